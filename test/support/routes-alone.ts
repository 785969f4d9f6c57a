import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { NewConnections } from "../../src/async/yielding.js";
import { openAdmission } from "../../src/http/admission.js";
import { createApp } from "../../src/http/app.js";
import type { Route } from "../../src/http/route.js";
import { type Log, openLog } from "../../src/log.js";
import { type Meters, openMeters } from "../../src/meters.js";
import { settingsFor } from "./service.js";

/** Serves routes without stores, to callers without a key. The test closes the server. */
export async function serveRoutes(
  routes: readonly Route[],
  options: { readonly meters?: Meters; readonly log?: Log } = {},
): Promise<{ readonly server: Server; readonly port: number }> {
  const { meters = openMeters(), log = openLog("silent") } = options;
  const settings = settingsFor("unused");
  const app = createApp({
    routes,
    meters,
    settings,
    log,
    admission: openAdmission(settings.limits, new NewConnections()),
    authenticate: async () => {},
    boundUnsent: () => {},
    stopping: () => false,
    serviceErrorOf: () => undefined,
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}
