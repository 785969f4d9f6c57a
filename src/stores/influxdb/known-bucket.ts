import { withTimeLimit } from "../../async/time-limit.js";
import type { Log } from "../../log.js";
import type { Bucket } from "./bucket.js";
import { BucketError } from "./errors.js";

/** How often the bucket is looked for while it is not to be had, and looked at while it is, ms. */
const SEEK_MS = 5_000;
const LOOK_MS = 180_000;

export interface KnownBucketParts {
  /** Looks for the bucket now. */
  readonly find: (signal: AbortSignal) => Promise<Bucket>;
  readonly log: Log;
  /** Of the server, as its operator knows it. */
  readonly host: string;
  /** The longest that one look may take, ms. */
  readonly lookMs: number;
}

/** The bucket as it was last seen. */
export class KnownBucket {
  readonly #parts: KnownBucketParts;
  #bucket: Bucket | undefined;
  #retentionMs: number | undefined;
  #look: Promise<Bucket> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** What was last said of it. */
  #said: string | undefined;

  constructor(parts: KnownBucketParts) {
    this.#parts = parts;
  }

  /** How long it kept points when it was last seen, ms; undefined: for ever, or not known yet. */
  get retentionMs(): number | undefined {
    return this.#retentionMs;
  }

  /** Resolves when there is a bucket to use. */
  async there(signal: AbortSignal): Promise<void> {
    if (this.#bucket === undefined) await this.seenNow(signal);
  }

  /** Resolves when it has been looked at. */
  async seenNow(signal: AbortSignal): Promise<void> {
    await withTimeLimit(this.#parts.lookMs, [signal], () => this.look());
  }

  /** The bucket was not where it was. */
  forget(): void {
    this.#bucket = undefined;
  }

  /** Looks at it now, and from then on now and again. Whoever comes during a look shares it. */
  look(): Promise<Bucket> {
    this.#look ??= this.#lookNow().finally(() => {
      this.#look = undefined;
      this.#again();
    });
    return this.#look;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #lookNow(): Promise<Bucket> {
    const { host } = this.#parts;
    try {
      const bucket = await withTimeLimit(this.#parts.lookMs, [], this.#parts.find);
      this.#say("up", () => this.#parts.log.info(bucket, "The bucket of the series is there"));
      this.#bucket = bucket;
      this.#retentionMs = bucket.retentionMs;
      return bucket;
    } catch (error) {
      if (error instanceof BucketError) {
        this.#bucket = undefined;
        this.#say(error.message, () =>
          this.#parts.log.error(`Series can be neither read nor written: InfluxDB at ${host}: ${error.message}`),
        );
      } else this.#say("away", () => this.#parts.log.warn(`InfluxDB at ${host} is away`));
      throw error;
    }
  }

  /** Says a thing once, not every time that it is still so. */
  #say(word: string, say: () => void): void {
    if (this.#said !== word && !this.#closed) say();
    this.#said = word;
  }

  #again(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const isWell = this.#said === "up" && this.#bucket !== undefined;
    this.#timer = setTimeout(() => this.look().catch(() => {}), isWell ? LOOK_MS : SEEK_MS).unref();
  }
}
