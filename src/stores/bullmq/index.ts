import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Probe } from "../../probe.js";
import type { JobEngine, OpenParts } from "../stores.js";
import { connections } from "./connection.js";
import { connectionTrouble, redisFailure } from "./failure.js";
import { bullmqWakeUp } from "./wake-up.js";

/** How long opening waits for the server, which may be away, ms. */
const OPEN_MS = 1_500;

/** An answer that takes longer is given up, ms. */
const ANSWER_MS = 1_000;

/** A worker's line that is silent for longer is made anew, ms: an idle one is answered every 10 s. */
const WORKER_SILENCE_MS = 25_000;

/** Opens jobs in Redis, or, while it is away, without it: everything then comes later, and nothing is lost. */
export async function openBullmq({ settings, log, clock }: OpenParts): Promise<JobEngine> {
  const redis = connections(settings.jobs.url);
  const producer = redis.open({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: ANSWER_MS,
    socketTimeout: 2 * ANSWER_MS,
  });
  let trouble: string | undefined;
  /** What was last said of the server while it was away. */
  let said: string | undefined;
  let closed = false;
  producer.on("error", (error: unknown) => {
    trouble = connectionTrouble(error);
  });
  producer.on("ready", () => {
    if (said !== undefined) log.info(`Redis at ${redis.host} is back`);
    said = undefined;
    trouble = undefined;
  });
  producer.on("close", () => {
    const words = `Redis at ${redis.host} is away${trouble === undefined ? "" : `: ${trouble}`}`;
    if (said !== words && !closed) log.warn(words);
    said = words;
  });
  const consumer = () => redis.open({ maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS });
  const wakeUp = bullmqWakeUp({ prefix: redis.prefix, producer, consumer, clock });
  await ready(producer);

  return {
    wakeUp,
    wakeUpOutlives: true,
    probes: [redisProbe(producer, () => trouble)],
    failureOf: redisFailure,
    async close() {
      if (closed) return;
      closed = true;
      await wakeUp.close();
      redis.close();
    },
  };
}

/** Resolves when the server is there, or after `OPEN_MS`. */
async function ready(client: Redis): Promise<void> {
  if (client.status === "ready") return;
  await withTimeLimit(OPEN_MS, [], () => new Promise((resolve) => client.once("ready", resolve))).catch(() => {});
}

/** Whether the server is there, and set up so that it loses nothing by itself. The service works without it, later. */
function redisProbe(
  client: Redis,
  /** Why connections are refused, where that is known. */
  trouble: () => string | undefined,
): Probe {
  return {
    name: "jobs",
    required: false,
    async check() {
      const info = await client.info().catch((error: unknown) => {
        if (trouble() === undefined) throw error;
      });
      if (info === undefined) return trouble();
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy !== undefined && policy !== "noeviction") return `maxmemory-policy is ${policy}, not noeviction`;
      if (/^aof_enabled:0/m.test(info)) return "appendonly is off";
      return undefined;
    },
  };
}
