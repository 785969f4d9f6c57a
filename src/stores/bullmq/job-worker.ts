import { type Job, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";

export interface JobWorkerParts {
  readonly queue: string;
  readonly prefix: string;
  /** Waits for the server however long it is away (`maxRetriesPerRequest: null`). Not closed by it. */
  readonly client: Redis;
  readonly concurrency: number;
  /** May reject: a job is never tried again, nor kept. */
  work(job: Job): Promise<void>;
}

/** Jobs that stalled are run again, however often. */
const NEVER = 1_000_000;

/**
 * A job whose worker is not heard of for `LOCK_MS` has stalled. The first look of any other worker, `LOOK_MS` apart, that finds it a second time
 * gives it to another worker: within 10 s after its worker was killed. A worker that was only too busy to say so runs on; `work` can be run twice.
 */
const LOCK_MS = 6_000;
const LOOK_MS = 2_000;

/** After an answer that was an error (a server that loads its data, say) the worker asks again after this, ms. */
const ASK_AGAIN_MS = 1_000;

/** How long the server may take to let a worker go, ms. Without one it would be waited for as long as it is away. */
const CLOSE_MS = 1_000;

/** Takes jobs. `close` resolves when none is under way, within a second or so after the last; a job that comes meanwhile is left to another worker. */
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
      maxStalledCount: NEVER,
      lockDuration: LOCK_MS,
      stalledInterval: LOOK_MS,
      runRetryDelay: ASK_AGAIN_MS,
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
