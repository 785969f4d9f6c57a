import type { Redis } from "ioredis";
import { systemClock } from "../../clock.js";
import type { Log } from "../../log.js";
import type { Ticks } from "../../metrics/ticks.js";
import { JobQueue } from "./job-queue.js";
import { jobWorker } from "./job-worker.js";

const QUEUE = "ticks";
const SCHEDULER = "recorder";

export interface TickSchedule {
  /** When to tick: a cron pattern, UTC. */
  readonly pattern: string;
  /** How often to look whether the server still has the schedule, ms: one that was emptied has forgotten it. */
  readonly lookMs: number;
}

/** At each full hour. */
export const HOURLY: TickSchedule = { pattern: "0 * * * *", lookMs: 60_000 };

/** A schedule whose next tick is overdue by so much has stopped, ms. */
const OVERDUE_MS = 60_000;

export interface TicksParts {
  readonly prefix: string;
  /** Fails at once while the server is away. */
  readonly producer: Redis;
  /** Opens a connection that waits for the server. */
  consumer(): Redis;
  readonly schedule: TickSchedule;
  readonly log: Log;
}

/** Ticks as jobs of one schedule, each taken by one of the processes that listen. */
export function bullmqTicks({ prefix, producer, consumer, schedule, log }: TicksParts): Ticks {
  const { pattern, lookMs } = schedule;
  const queue = new JobQueue(QUEUE, prefix, producer);
  let worker: { close(): Promise<void> } | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Makes the schedule, unless it is there and goes on. */
  async function keepScheduled(): Promise<void> {
    const open = queue.get();
    if (open === undefined) return;
    const known = await open.getJobScheduler(SCHEDULER);
    const goesOn = known?.pattern === pattern && (known.next ?? 0) > systemClock() - OVERDUE_MS;
    if (!goesOn) await open.upsertJobScheduler(SCHEDULER, { pattern, tz: "UTC" }, { name: "tick" });
  }

  function look(): void {
    keepScheduled().catch((error: unknown) =>
      log.debug({ err: error }, "the schedule of ticks could not be looked at"),
    );
  }

  return {
    listen(tick) {
      worker = jobWorker({ queue: QUEUE, prefix, client: consumer(), concurrency: 1, work: async () => tick() });
      producer.on("ready", look);
      timer = setInterval(look, lookMs).unref();
      look();
    },

    async close() {
      clearInterval(timer);
      producer.off("ready", look);
      await worker?.close();
    },
  };
}
