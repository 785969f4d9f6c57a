import { Queue } from "bullmq";
import type { Redis } from "ioredis";

/**
 * The side of a queue that adds jobs. A queue that was being opened when its connection broke never works again, so it is
 * opened only while the server is there, and anew when that failed.
 */
export class JobQueue {
  readonly #name: string;
  readonly #prefix: string;
  readonly #client: Redis;
  #queue: Queue | undefined;

  /** `client` is not closed by it. */
  constructor(name: string, prefix: string, client: Redis) {
    this.#name = name;
    this.#prefix = prefix;
    this.#client = client;
  }

  /** The queue; undefined while the server is known to be away. */
  get(): Queue | undefined {
    if (this.#client.status !== "ready") return undefined;
    this.#queue ??= this.#open();
    return this.#queue;
  }

  #open(): Queue {
    const queue = new Queue(this.#name, {
      connection: this.#client,
      prefix: this.#prefix,
      // The stream of events is read by nobody.
      streams: { events: { maxLen: 10 } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    queue.on("error", () => {});
    queue.waitUntilReady().catch(() => {
      if (this.#queue === queue) this.#queue = undefined;
    });
    return queue;
  }
}
