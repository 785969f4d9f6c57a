import { Redis } from "ioredis";
import { dataFolder } from "./data-folder.js";
import { freePort } from "./free-port.js";
import { startProgram } from "./program.js";

/** A Redis of a test's own, which may be treated badly. */
export interface RedisServer {
  readonly url: string;
  /** Folder of its data. */
  readonly dir: string;
  /** Ends it like `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again on the same port with its persisted data: none, unless `options` enable persistence. */
  start(): Promise<void>;
  /** Nothing comes in or out, and every connection stays open, until `resume`. */
  pause(): void;
  resume(): void;
  /** Asks it something. */
  ask<T>(question: (client: Redis) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Starts one on a free port of this machine. By default it keeps nothing on disk. */
export async function startRedis(...options: string[]): Promise<RedisServer> {
  const dir = dataFolder();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  async function ask<T>(question: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    client.on("error", () => {});
    try {
      await client.connect();
      return await question(client);
    } finally {
      client.disconnect();
    }
  }

  const program = await startProgram(
    process.env.TEST_REDIS_SERVER ?? "redis-server",
    ["--bind", "127.0.0.1", "--port", String(port), "--dir", dir, "--save", "", ...options],
    async () => (await ask((client) => client.ping())) === "PONG",
  );
  return {
    url,
    dir,
    kill: program.kill,
    start: program.restart,
    pause: program.pause,
    resume: program.resume,
    ask,
    close: program.kill,
  };
}
