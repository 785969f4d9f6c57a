import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp } from "../../src/http/core/app.js";
import type { Route } from "../../src/http/core/route.js";
import { followConnections } from "../../src/http/edge/connections.js";
import { RequestLimits } from "../../src/http/edge/limits.js";
import { type Log, openLog } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { type Meters, openMeters } from "../../src/meters.js";
import { endsWithTest } from "./ends-with-test.js";
import { type Overrides, settingsFor } from "./service.js";

/** The memory of a process, of the size as shipped. */
export function newMemory(): MemoryBudget {
  return new MemoryBudget(settingsFor("unused").limits.read_bytes);
}

/** Serves routes without stores, to callers without a key, until it is closed or the test ends. */
export async function serveRoutes(
  routes: readonly Route[],
  options: { readonly meters?: Meters; readonly log?: Log; readonly overrides?: Overrides } = {},
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { meters = openMeters(), log = openLog("silent") } = options;
  const settings = settingsFor("unused", options.overrides);
  const app = createApp({
    routes,
    meters,
    settings,
    log,
    requestLimits: new RequestLimits(settings.limits),
    authenticate: async (ctx) => {
      ctx.state.bounds = {};
    },
    allowsOrigin: async () => false,
    memory: newMemory(),
    protocols: new Map(),
    stopping: () => false,
    toServiceError: () => undefined,
  });
  const server = createServer();
  followConnections(server);
  server.on("request", app.callback()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = endsWithTest(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, close };
}
