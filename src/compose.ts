import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "./clock.js";
import type { Settings } from "./config.js";
import { Api } from "./http/api-router.js";
import { createApp } from "./http/app.js";
import { pointRoutes } from "./http/routes/points.js";
import type { Log } from "./log.js";
import { parseDuration } from "./metrics/duration.js";
import { recordPoints } from "./metrics/record-points.js";
import { openStores } from "./stores/open-stores.js";
import type { Stores } from "./stores/stores.js";

/** A running service, whole. */
export interface Service {
  readonly stores: Stores;
  readonly server: Server;
  /** Opens the port; the address is a URL without a path. */
  listen(): Promise<string>;
  /** Lets requests under way finish, then closes everything. */
  stop(): Promise<void>;
}

/** Puts the parts together: the only file that knows every one of them. */
export async function compose(settings: Settings, clock: Clock, log: Log): Promise<Service> {
  void clock;
  const stores = await openStores(settings);
  const api = new Api();
  const record = recordPoints({ store: stores.series, changes: stores.changes, claims: stores.claims });
  const keep = settings.metrics.keep === null ? undefined : parseDuration(settings.metrics.keep)?.ms;
  pointRoutes(api, { record, limits: settings.limits, keep, clock });
  const app = createApp({ api, log, authenticate: async () => {} });
  const server = createServer({ maxHeaderSize: settings.limits.header_bytes }, app.callback());

  return {
    stores,
    server,
    async listen() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(settings.http.port, settings.http.host, resolve);
      });
      const { port } = server.address() as AddressInfo;
      return `http://${settings.http.host.includes(":") ? `[${settings.http.host}]` : settings.http.host}:${port}`;
    },
    async stop() {
      await new Promise((resolve) => server.close(resolve));
      await stores.close();
    },
  };
}
