// The servers of one run, in a folder of their own that is removed at the end.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../set-up.mjs";
import { startServer } from "./server.mjs";
import { dropStores } from "./server-stores.mjs";

/** Opens a session: nothing runs yet. `options` are those of the command line. */
export function openSession(options) {
  const key = `em_bench_${randomBytes(20).toString("hex")}`;
  const folder = mkdtempSync(join(tmpdir(), "entity-metrics-bench-"));
  const running = new Set();
  const stores = [];
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
    /** Values that were compared with the formula that made the points. */
    checked: 0,

    /** The built service over data of that name: a second one of the same name goes on with what the first one left. */
    service: (name, environment = {}) =>
      start([join(root, "dist/main.js")], {
        DATA_DIR: join(folder, name),
        ADMIN_KEY: key,
        HOST: "127.0.0.1",
        PORT: "0",
        LOG_LEVEL: "warn",
        ...environment,
      }),

    /** Tables in SQLite with a row for each thing. */
    rows: (name) => start([join(root, "scripts/bench/row-store.mjs"), join(folder, `${name}.db`)]),

    /** Koa alone. */
    koa: () => start([join(root, "scripts/bench/koa-limit.mjs")]),

    async stop(...servers) {
      for (const server of servers) {
        await server.stop();
        running.delete(server);
      }
    },

    /** Notes names on servers that are to be removed at the end. */
    use: (own) => stores.push(own),

    say: (text) => process.stderr.write(`${text}\n`),

    /** Ends what runs, then removes what it wrote; once, however often it is called. */
    cleanUp() {
      cleaning ??= Promise.all([...running].map((server) => server.stop()))
        .then(() => Promise.all(stores.map(dropStores)))
        .finally(() => rmSync(folder, { recursive: true, force: true }));
      return cleaning;
    },
  };
}
