import type { Redis } from "ioredis";
import { systemClock } from "../../clock.js";
import type { Log } from "../../log.js";
import type { Ticks } from "../../metrics/ticks.js";
import { JobQueue } from "./job-queue.js";
import { jobWorker } from "./job-worker.js";

const QUEUE = "ticks";
const SCHEDULER = "recorder";

/** At each full hour. */
export const HOURLY = "0 * * * *";

/** The schedule is looked at this often, ms: a server that was emptied has forgotten it. */
const LOOK_MS = 60_000;

export interface TicksParts {
  readonly prefix: string;
  /** Fails at once while the server is away. */
  readonly producer: Redis;
  /** Opens a connection that waits for the server. */
  consumer(): Redis;
  /** When to tick: a cron pattern, UTC. */
  readonly pattern: string;
  readonly log: Log;
}

/** Ticks as jobs of one schedule, each taken by one of the processes that listen. */
export function bullmqTicks({ prefix, producer, consumer, pattern, log }: TicksParts): Ticks {
  const queue = new JobQueue(QUEUE, prefix, producer);
  let worker: { close(): Promise<void> } | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Makes the schedule, unless it is there and goes on. */
  async function schedule(): Promise<void> {
    const open = queue.get();
    if (open === undefined) return;
    const known = await open.getJobScheduler(SCHEDULER);
    const goesOn = known?.pattern === pattern && (known.next ?? 0) > systemClock() - LOOK_MS;
    if (!goesOn) await open.upsertJobScheduler(SCHEDULER, { pattern, tz: "UTC" }, { name: "tick" });
  }

  function look(): void {
    schedule().catch((error: unknown) => log.debug({ err: error }, "the schedule of ticks could not be looked at"));
  }

  return {
    listen(tick) {
      worker = jobWorker({ queue: QUEUE, prefix, client: consumer(), concurrency: 1, work: async () => tick() });
      producer.on("ready", look);
      timer = setInterval(look, LOOK_MS).unref();
      look();
    },

    async close() {
      clearInterval(timer);
      producer.off("ready", look);
      await worker?.close();
    },
  };
}
