// The servers of one run, in a temporary folder.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../set-up.mjs";
import { startServer } from "./server.mjs";

/** Opens a session without starting a server. `options` come from the command line. */
export function openSession(options) {
  const key = `em_bench_${randomBytes(20).toString("hex")}`;
  const folder = mkdtempSync(join(tmpdir(), "entity-metrics-bench-"));
  const running = new Set();
  let cleaning;

  async function start(args, environment) {
    const server = await startServer(args, environment);
    running.add(server);
    return server;
  }

  return {
    ...options,
    /** An API key with every scope. */
    key,
    /** Number of values that were compared with the formula. */
    checked: 0,

    /** Starts the built service on the data of that name. A second one of the same name continues with that data. */
    service: (name, environment = {}) =>
      start([join(root, "dist/main.js")], {
        DATA_DIR: join(folder, name),
        ADMIN_KEY: key,
        HOST: "127.0.0.1",
        PORT: "0",
        LOG_LEVEL: "warn",
        ...environment,
      }),

    /** Starts the tables in SQLite with one row per thing. */
    rows: (name) => start([join(root, "scripts/bench/row-store.mjs"), join(folder, `${name}.db`)]),

    /** Starts Koa alone. */
    koa: () => start([join(root, "scripts/bench/koa-limit.mjs")]),

    async stop(...servers) {
      for (const server of servers) {
        await server.stop();
        running.delete(server);
      }
    },

    say: (text) => process.stderr.write(`${text}\n`),

    /** Stops the servers, then removes their data; once, however often it is called. */
    cleanUp() {
      cleaning ??= Promise.all([...running].map((server) => server.stop())).finally(() =>
        rmSync(folder, { recursive: true, force: true }),
      );
      return cleaning;
    },
  };
}
