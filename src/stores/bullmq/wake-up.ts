import type { Redis } from "ioredis";
import type { Clock } from "../../clock.js";
import type { WakeUp } from "../../deletions/wake-up.js";
import { JobQueue } from "./job-queue.js";
import { jobWorker } from "./job-worker.js";

const QUEUE = "deletions";

const RUNS_AT_ONCE = 16;

/**
 * Jobs for later are due at multiples of this, ms. The moment is part of their id, so hints of one request for one moment are one job,
 * and a job that is due can add the next one while it is still kept itself.
 */
const STEP_MS = 250;

/** Stands between the id of a request, which never has it, and the moment. */
const AT = "@";

export interface WakeUpParts {
  readonly prefix: string;
  /** Fails at once while the server is away. */
  readonly producer: Redis;
  /** Opens a connection that waits for the server. */
  consumer(): Redis;
  readonly clock: Clock;
}

/**
 * Hints as jobs that hold the id of the request alone. A hint is lost when the server is away, or when it still keeps a job of
 * this id; one that is doubled or late does no harm either. The ledger says what is open, and the next look of the sweeper finds every
 * request whose hint was lost; so nothing is kept here for a server that comes back.
 */
export function bullmqWakeUp({ prefix, producer, consumer, clock }: WakeUpParts): WakeUp {
  const queue = new JobQueue(QUEUE, prefix, producer);
  let worker: { close(): Promise<void> } | undefined;

  return {
    hint(requestId, delayMs = 0) {
      const options = delayMs > 0 ? optionsForLater(requestId, delayMs, clock()) : { jobId: requestId };
      queue
        .get()
        ?.add("deletion", {}, options)
        .catch(() => {});
    },

    listen(run) {
      worker = jobWorker({
        queue: QUEUE,
        prefix,
        client: consumer(),
        concurrency: RUNS_AT_ONCE,
        work: async ({ id }) => {
          const [requestId] = id?.split(AT) ?? [];
          if (requestId !== undefined) await run(requestId);
        },
      });
    },

    async close() {
      await worker?.close();
    },
  };
}

function optionsForLater(requestId: string, delayMs: number, now: number): { jobId: string; delay: number } {
  const at = Math.ceil((now + delayMs) / STEP_MS) * STEP_MS;
  return { jobId: `${requestId}${AT}${at}`, delay: at - now };
}
