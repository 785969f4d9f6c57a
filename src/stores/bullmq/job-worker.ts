import { type Job, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";

export interface JobWorkerParts {
  readonly queue: string;
  readonly prefix: string;
  /** Waits for Redis however long it is unreachable (`maxRetriesPerRequest: null`). The caller closes it. */
  readonly client: Redis;
  readonly concurrency: number;
  /** May reject: a job is never tried again, nor kept. */
  work(job: Job): Promise<void>;
}

/** Jobs that stalled are run again, however often. */
const NO_LIMIT = 1_000_000;

/**
 * A job whose worker does not renew its lock for `LOCK_MS` has stalled. Each worker checks every `CHECK_MS`; the second check that finds the job
 * stalled gives it to another worker: within 10 s after its worker was killed. A worker that was only too busy runs on; `work` can be run twice.
 */
const LOCK_MS = 6_000;
const CHECK_MS = 2_000;

/** Pause of a worker after an error of Redis (one that loads its data, say), ms. */
const RETRY_MS = 1_000;

/** Time limit of closing a worker, ms. Without it closing would wait for an unreachable Redis. */
const CLOSE_MS = 1_000;

/** Takes jobs. `close` resolves within about a second after the last running job ended; a job that arrives meanwhile goes to another worker. */
export function jobWorker({ queue, prefix, client, concurrency, work }: JobWorkerParts): { close(): Promise<void> } {
  const running = new Set<Promise<void>>();
  let closing = false;

  const worker = new Worker(
    queue,
    async (job, token) => {
      if (closing) {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      const run = work(job).catch(() => {});
      running.add(run);
      await run;
      running.delete(run);
    },
    {
      connection: client,
      prefix,
      concurrency,
      maxStalledCount: NO_LIMIT,
      lockDuration: LOCK_MS,
      stalledInterval: CHECK_MS,
      runRetryDelay: RETRY_MS,
    },
  );
  worker.on("error", () => {});

  return {
    async close() {
      closing = true;
      const closed = worker.close();
      closed.catch(() => {});
      await Promise.all(running);
      await withTimeLimit(CLOSE_MS, [], () => closed).catch(() => {});
    },
  };
}
