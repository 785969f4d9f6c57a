import { type Job, Queue, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Clock } from "../../clock.js";
import type { WakeUp } from "../../deletions/ports.js";

const QUEUE = "deletions";

/** Runs that are under way at once share their calls of MongoDB: of 64 each takes half of what it takes of 16. Remote targets have limits of their own. */
const RUNS_AT_ONCE = 64;

/**
 * Delayed jobs are due at multiples of this, ms. The instant is part of their id, so hints of one request for one instant are one job,
 * and a running job can add the next one while Redis still keeps it.
 */
const STEP_MS = 250;

/** Separates the id of a request, which never contains it, from the instant. */
const AT = "@";

export interface WakeUpParts {
  readonly prefix: string;
  /** Fails at once while Redis is unreachable. */
  readonly producer: Redis;
  /** Opens a connection that waits for Redis. */
  consumer(): Redis;
  readonly clock: Clock;
}

/**
 * Hints as jobs that hold the id of the request alone. A hint is lost while Redis is unreachable, or when Redis still keeps a job of
 * this id; one that comes twice or late does no harm. The ledger says what is open, and the sweeper finds every request whose hint
 * was lost; so nothing is buffered here until Redis is back.
 */
export function bullmqWakeUp({ prefix, producer, consumer, clock }: WakeUpParts): WakeUp {
  const queue = jobQueue(prefix, producer);
  let worker: { close(): Promise<void> } | undefined;

  return {
    hint(requestId, delayMs = 0) {
      const options = delayMs > 0 ? optionsForLater(requestId, delayMs, clock()) : { jobId: requestId };
      queue()
        ?.add("deletion", {}, options)
        .catch(() => {});
    },

    listen(run) {
      worker = jobWorker(prefix, consumer(), async ({ id }) => {
        const [requestId] = id?.split(AT) ?? [];
        if (requestId !== undefined) await run(requestId);
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

/**
 * The queue; undefined while Redis is known to be unreachable. A BullMQ `Queue` whose connection breaks while it is being opened never works again,
 * so it is opened only while Redis is connected, and once more when that failed. The caller closes `client`.
 */
function jobQueue(prefix: string, client: Redis): () => Queue | undefined {
  let open: Queue | undefined;
  return () => {
    if (client.status !== "ready") return undefined;
    if (open !== undefined) return open;
    const queue = new Queue(QUEUE, {
      connection: client,
      prefix,
      // Nothing reads the stream of events.
      streams: { events: { maxLen: 10 } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    queue.on("error", () => {});
    queue.waitUntilReady().catch(() => {
      if (open === queue) open = undefined;
    });
    open = queue;
    return queue;
  };
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

/**
 * Takes jobs. `client` waits for Redis however long it is unreachable, and the caller closes it. `work` may reject: a job is never tried again, nor
 * kept. `close` resolves within about a second after the last running job ended; a job that arrives meanwhile goes to another worker.
 */
function jobWorker(prefix: string, client: Redis, work: (job: Job) => Promise<void>): { close(): Promise<void> } {
  const running = new Set<Promise<void>>();
  let closing = false;

  const worker = new Worker(
    QUEUE,
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
      concurrency: RUNS_AT_ONCE,
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
