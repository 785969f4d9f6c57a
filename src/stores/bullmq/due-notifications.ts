import { type Job, Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { withTimeLimit } from "../../async/time-limit.js";
import type { DueNotifications } from "../../deletions/ports.js";

const QUEUE = "deletions";

/**
 * Exceeds the number of concurrent runs: a job ends at once if its request finds no free place, and the ledger's poll
 * runs the request.
 */
const JOBS_AT_ONCE = 64;

/** Pause of a worker after an error of Redis (while it loads its data, for example), ms. */
const RETRY_MS = 1_000;

/** Time limit of closing a worker, ms. Without it closing would wait for its runs, or for an unreachable Redis. */
const CLOSE_MS = 1_000;

export interface DueNotificationsDependencies {
  readonly prefix: string;
  /** Fails at once while Redis is unreachable. The caller closes it. */
  readonly producer: Redis;
  /** Opens a connection that waits for Redis. The caller closes it. */
  consumer(): Redis;
}

/**
 * Due notifications as jobs that contain only the id of the request. A due notification is lost if Redis is unreachable
 * or the process that took its job ends. The ledger decides which requests are due, and its poll finds the request.
 */
export function bullmqDueNotifications({ prefix, producer, consumer }: DueNotificationsDependencies): DueNotifications {
  const queue = jobQueue(prefix, producer);
  let worker: Worker | undefined;

  return {
    send(requestId) {
      queue()
        ?.add("deletion", { requestId })
        .catch(() => {});
    },

    listen(run) {
      const work = ({ data: { requestId } }: Job<{ requestId: string }>) => run(requestId);
      const connection = consumer();
      worker = new Worker(QUEUE, work, { connection, prefix, concurrency: JOBS_AT_ONCE, runRetryDelay: RETRY_MS });
      worker.on("error", () => {});
    },

    async close() {
      await withTimeLimit(CLOSE_MS, [], async () => worker?.close()).catch(() => {});
    },
  };
}

/**
 * Returns the queue; undefined while Redis is known to be unreachable. A BullMQ `Queue` whose connection breaks during
 * opening never works again, so it is opened only while Redis is connected, and again if that failed.
 */
function jobQueue(prefix: string, client: Redis): () => Queue | undefined {
  let open: Queue | undefined;
  return () => {
    if (client.status !== "ready") return undefined;
    if (open !== undefined) return open;
    const queue = new Queue(QUEUE, {
      connection: client,
      prefix,
      // No process reads the stream of events.
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
