import type { Redis } from "ioredis";
import type { WakeUp } from "../../deletions/wake-up.js";
import { JobQueue } from "./job-queue.js";
import { jobWorker } from "./job-worker.js";

const QUEUE = "deletions";

const RUNS_AT_ONCE = 8;

export interface WakeUpParts {
  readonly prefix: string;
  /** Fails at once while the server is away. */
  readonly producer: Redis;
  /** Opens a connection that waits for the server. */
  consumer(): Redis;
}

/**
 * Hints as jobs that hold the id of the request alone. A hint is lost when the server is away, or when it still keeps a job of
 * this id; one that is doubled or late does no harm either. The ledger says what is open, and the sweeper finds within a
 * second what nobody was told of; so nothing is kept here for a server that comes back.
 */
export function bullmqWakeUp({ prefix, producer, consumer }: WakeUpParts): WakeUp {
  const queue = new JobQueue(QUEUE, prefix, producer);
  let worker: { close(): Promise<void> } | undefined;

  return {
    hint(requestId) {
      queue
        .get()
        ?.add("deletion", {}, { jobId: requestId })
        .catch(() => {});
    },

    listen(run) {
      worker = jobWorker({
        queue: QUEUE,
        prefix,
        client: consumer(),
        concurrency: RUNS_AT_ONCE,
        work: async ({ id }) => {
          if (id !== undefined) await run(id);
        },
      });
    },

    async close() {
      await worker?.close();
    },
  };
}
