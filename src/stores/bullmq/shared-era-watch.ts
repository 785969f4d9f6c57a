import type { SharedEra } from "../../metrics/shared-era.js";
import { within } from "./within.js";

/** The number is read this often, ms, and a read may take so long before another is tried. */
const READ_EVERY_MS = 400;
const LONGEST_READ_MS = 1_000;

/** A number says what is true for so long from the start of its read, ms. */
const CURRENT_MS = 900;

/** Clocks do not run alike, and timers come late: added where others are waited for, ms. */
const MARGIN_MS = 200;

/** The shared number as this process knows it. Times are ms of `performance.now`. */
export class SharedEraWatch {
  readonly #sharedEra: SharedEra;
  readonly #raised: () => void;
  readonly #deadlineMs: number;
  #seen: number | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #raising: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Whether others have still to be told of something. */
  #owed = false;

  /** Calls `raised` when the number has become larger; a `raise` fails after `deadlineMs`. */
  constructor(sharedEra: SharedEra, deadlineMs: number, raised: () => void) {
    this.#sharedEra = sharedEra;
    this.#deadlineMs = deadlineMs;
    this.#raised = raised;
    void this.#look();
  }

  /** Whether a raise that resolved `CURRENT_MS` ago would have been seen. */
  isCurrent(now: number): boolean {
    return now - this.#readAt <= CURRENT_MS;
  }

  /** Raises the number, once for all who ask before it is begun. When it fails it is tried again, but this promise rejects. */
  raise(): Promise<void> {
    this.#owed = true;
    if (this.#next !== undefined) return this.#next;
    const previous = this.#raising ?? Promise.resolve();
    const next = previous
      .catch(() => {})
      .then(async () => {
        this.#raising = next;
        this.#next = undefined;
        this.#owed = false;
        try {
          await within(this.#deadlineMs, this.#sharedEra.raise());
        } catch (error) {
          this.#owed = true;
          throw error;
        }
      });
    this.#next = next;
    return next;
  }

  /** After a raise: resolves when every process has seen it, or knows that it may have missed one. */
  async seenByAll(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, CURRENT_MS + MARGIN_MS));
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const startedAt = performance.now();
    if (this.#owed) this.raise().catch(() => {});
    await within(LONGEST_READ_MS, this.#read(startedAt)).catch(() => {});
    if (this.#closed) return;
    const rest = Math.max(0, startedAt + READ_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => void this.#look(), rest).unref();
  }

  /** A read that comes back late still says what was true when it started. */
  async #read(startedAt: number): Promise<void> {
    const number = await this.#sharedEra.read();
    if (this.#seen !== undefined && number > this.#seen) this.#raised();
    this.#seen = Math.max(number, this.#seen ?? number);
    this.#readAt = Math.max(this.#readAt, startedAt);
  }
}
