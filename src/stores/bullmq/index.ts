import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Probe } from "../../meters.js";
import type { JobEngine, OpenParts } from "../stores.js";
import { connectionError, connections, redisServiceError } from "./connection.js";
import { bullmqWakeUp } from "./wake-up.js";

/** How long opening waits for Redis, which may be unreachable, ms. */
const OPEN_MS = 1_500;

/** Time limit of one command, ms. */
const COMMAND_MS = 1_000;

/** A worker's connection without a byte for longer is opened again, ms. An idle one gets a response every 10 s. */
const WORKER_SILENCE_MS = 25_000;

/** Opens the jobs in Redis. While Redis is unreachable hints are dropped, and the sweeper finds the deletions later. */
export async function openBullmq({ settings, log, clock }: OpenParts): Promise<JobEngine> {
  const redis = connections(settings.jobs.url);
  const producer = redis.open({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    socketTimeout: 2 * COMMAND_MS,
  });
  /** Why Redis refuses connections, where that is known. */
  let reason: string | undefined;
  /** What was last logged while Redis was unreachable. */
  let logged: string | undefined;
  let closed = false;
  producer.on("error", (error: unknown) => {
    reason = connectionError(error);
  });
  producer.on("ready", () => {
    if (logged !== undefined) log.info(`Redis at ${redis.host} is back`);
    logged = undefined;
    reason = undefined;
  });
  producer.on("close", () => {
    const words = `Redis at ${redis.host} is away${reason === undefined ? "" : `: ${reason}`}`;
    if (logged !== words && !closed) log.warn(words);
    logged = words;
  });
  const consumer = () => redis.open({ maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS });
  const wakeUp = bullmqWakeUp({ prefix: redis.prefix, producer, consumer, clock });
  await ready(producer);

  return {
    wakeUp,
    probes: [redisProbe(producer, () => reason)],
    serviceErrorOf: redisServiceError,
    async close() {
      if (closed) return;
      closed = true;
      await wakeUp.close();
      redis.close();
    },
  };
}

/** Resolves when Redis is connected, or after `OPEN_MS`. */
async function ready(client: Redis): Promise<void> {
  if (client.status === "ready") return;
  await withTimeLimit(OPEN_MS, [], () => new Promise((resolve) => client.once("ready", resolve))).catch(() => {});
}

/** Whether Redis responds, and is configured to lose no job by itself. The service works without it, with delays. */
function redisProbe(client: Redis, reason: () => string | undefined): Probe {
  return {
    name: "jobs",
    required: false,
    async check() {
      const info = await client.info().catch((error: unknown) => {
        if (reason() === undefined) throw error;
      });
      if (info === undefined) return reason();
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy !== undefined && policy !== "noeviction") return `maxmemory-policy is ${policy}, not noeviction`;
      if (/^aof_enabled:0/m.test(info)) return "appendonly is off";
      return undefined;
    },
  };
}
