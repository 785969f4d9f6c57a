import type { Redis } from "ioredis";
import type { Changes } from "../../metrics/changes.js";
import type { SharedEra } from "../../metrics/shared-era.js";
import type { JobEngine, OpenParts } from "../stores.js";
import { RedisChanges } from "./changes.js";
import { type Connections, connections } from "./connection.js";
import { connectionTrouble, redisFailure } from "./failure.js";
import { loneChanges } from "./lone-changes.js";
import { redisProbe } from "./probe.js";
import { bullmqTicks, HOURLY, type TickSchedule } from "./ticks.js";
import { bullmqWakeUp } from "./wake-up.js";

/** How long opening waits for the server, which may be away, ms. */
const OPEN_MS = 1_500;

/** An answer that takes longer is given up, ms. */
const ANSWER_MS = 1_000;

/** A worker's line that is silent for longer is made anew, ms: an idle one is answered every 10 s. */
const WORKER_SILENCE_MS = 25_000;

/** What the store may add to its own deadline before a write is there or never will be, ms. */
const WRITE_MARGIN_MS = 2_000;

/** Opens jobs and news of writes in Redis, or, while it is away, without it: everything then comes later, and nothing is lost. */
export async function openBullmq(
  { settings, log }: OpenParts,
  sharedEra: SharedEra,
  schedule: TickSchedule = HOURLY,
): Promise<JobEngine> {
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
    if (said !== undefined) log.info(`the server of the jobs at ${redis.host} is back`);
    said = undefined;
    trouble = undefined;
  });
  producer.on("close", () => {
    const words = `the server of the jobs at ${redis.host} is away${trouble === undefined ? "" : `: ${trouble}`}`;
    if (said !== words && !closed) log.warn(words);
    said = words;
  });
  const consumer = () => redis.open({ maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS });
  const jobs = { prefix: redis.prefix, producer, consumer };
  const wakeUp = bullmqWakeUp(jobs);
  const ticks = bullmqTicks({ ...jobs, schedule, log });

  // Who keeps profiles or series in a folder of its own is the only one who writes them.
  const alone = [settings.entities.url, settings.metrics.url].some((url) => url.startsWith("sqlite:"));
  const shared = alone ? undefined : sharedChanges(redis, sharedEra, settings.limits.store_deadline_ms);
  const changes: Changes = shared ?? loneChanges();
  await Promise.all([ready(producer), shared?.settled(OPEN_MS)]);

  return {
    wakeUp,
    wakeUpOutlives: true,
    ticks,
    changes,
    probes: [redisProbe(producer, changes, () => trouble)],
    failureOf: redisFailure,
    async close() {
      if (closed) return;
      closed = true;
      await Promise.all([wakeUp.close(), ticks.close()]);
      shared?.close();
      redis.close();
    },
  };
}

function sharedChanges(redis: Connections, sharedEra: SharedEra, deadlineMs: number): RedisChanges {
  // Nothing is sent again after a line was cut: it would come late, and twice.
  const once = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: ANSWER_MS,
  };
  const publisher = redis.open(once);
  const subscriber = redis.open({ ...once, autoResubscribe: false });
  // Channels are one for all databases of a server.
  const channel = `${redis.prefix}:${publisher.options.db ?? 0}:changes`;
  const writeLifeMs = deadlineMs + WRITE_MARGIN_MS;
  return new RedisChanges({ channel, publisher, subscriber, sharedEra, writeLifeMs, deadlineMs });
}

/** Resolves when the server is there, or after `OPEN_MS`. */
async function ready(client: Redis): Promise<void> {
  if (client.status === "ready") return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, OPEN_MS);
    client.once("ready", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
