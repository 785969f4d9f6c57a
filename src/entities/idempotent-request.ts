import { createHash, createHmac } from "node:crypto";
import { retry } from "../async/retry.js";
import type { Clock } from "../clock.js";
import { ServiceError } from "../errors.js";
import { NEARBY_DIGITS } from "../names.js";
import type { Idempotency, IdempotentRequest } from "./ports.js";

/** How long a request has its key for itself after each sign of progress, ms. */
const LEASE_MS = 60_000;

/** A request that cannot be let go is tried again so often, after pauses of so many ms. */
const RELEASE_TRIES = 10;
const RELEASE_PAUSE_MS = 1_000;

/** Keyed hash of a text, hex: without the key no guess of the text can be confirmed. */
export type HashRequest = (text: string) => string;

/** How requests and their messages are hashed in a store made with this pepper. */
export function requestHashing(pepper: Uint8Array): HashRequest {
  return (text) => createHmac("sha256", pepper).update("repeatable request\n").update(text).digest("hex");
}

export interface IdempotencyParts {
  readonly hashRequest: HashRequest;
  readonly idempotency: Idempotency;
  /** See `clock.arrivals`. */
  readonly arrivals: Clock;
}

/** One run of a request that may be repeated: what was done before is skipped, as long as the body is the same. */
export class RepeatableRun {
  readonly #parts: IdempotencyParts;
  readonly #owner: string;
  readonly #before: IdempotentRequest;
  /** Whether no run before this one can have kept anything of the request. */
  readonly isFirst: boolean;
  #seen = 0;
  #digest = "";
  #isOver = false;

  private constructor(parts: IdempotencyParts, owner: string, before: IdempotentRequest, isFirst: boolean) {
    this.#parts = parts;
    this.#owner = owner;
    this.#before = before;
    this.isFirst = isFirst;
  }

  /** Takes the request of this name for `owner`; refused while another has it. */
  static async begin(parts: IdempotencyParts, name: string, owner: string): Promise<RepeatableRun> {
    const id = parts.hashRequest(name);
    const arrival = parts.arrivals();
    const before = await parts.idempotency.begin(id, owner, arrival, arrival + LEASE_MS).catch((error) => {
      // It may be taken all the same: then no other request would get it until the lease ends.
      void letGo(parts.idempotency, id, owner);
      throw error;
    });
    if (before === undefined) {
      throw new ServiceError("conflict", "A request with this Idempotency-Key is under way", { retryAfter: 1 });
    }
    return new RepeatableRun(parts, owner, before, before.arrival === arrival);
  }

  /** When the request came for the first time. */
  get arrival(): number {
    return this.#before.arrival;
  }

  /** What was noted with `advance` before; empty when nothing was. */
  get tally(): string {
    return this.#before.tally;
  }

  /** Takes note of the next message of the body; true when it was done with in an earlier run. */
  meet(text: string): boolean {
    const { done, digest, finished } = this.#before;
    if (this.#seen === done && finished) throw anotherBody();
    this.#seen += 1;
    this.#digest = this.#parts.hashRequest(`${this.#digest}\n${text}`);
    if (this.#seen === done && this.#digest !== digest) throw anotherBody();
    return this.#seen <= done;
  }

  /** An id for the message met last: the same in each run, and for no other message. Those of one request begin alike, as `nearbyIds` has them. */
  messageId(): string {
    const { id, arrival } = this.#before;
    const own = createHash("sha256")
      .update(JSON.stringify([id, arrival, this.#seen, this.#digest]))
      .digest("hex");
    return id.slice(0, NEARBY_DIGITS) + own.slice(0, 32 - NEARBY_DIGITS);
  }

  /** Notes that all messages met so far are done with. What is not noted may be done again, to the same end. */
  async advance(tally: string): Promise<void> {
    if (this.#seen > this.#before.done) await this.#note(tally, false, this.#parts.arrivals() + LEASE_MS);
  }

  /** Notes that the body has ended, and lets the next run in. */
  async finish(tally: string): Promise<void> {
    if (this.#seen < this.#before.done) throw anotherBody();
    if (this.#before.finished) return;
    await this.#note(tally, true, 0);
    this.#isOver = true;
  }

  /** Lets the next run in. */
  async release(): Promise<void> {
    if (!this.#isOver) await letGo(this.#parts.idempotency, this.#before.id, this.#owner);
  }

  #note(tally: string, finished: boolean, until: number): Promise<void> {
    const { id, arrival } = this.#before;
    const progress = { id, arrival, done: this.#seen, digest: this.#digest, finished, tally };
    return this.#parts.idempotency.advance(progress, this.#owner, until);
  }
}

/** Resolves after the first attempt; others follow in the background. What they cannot release ends with the lease. */
async function letGo(idempotency: Idempotency, id: string, owner: string): Promise<void> {
  const release = () => idempotency.release(id, owner);
  const pauseAfter = (_: unknown, attempt: number) => (attempt > RELEASE_TRIES ? undefined : RELEASE_PAUSE_MS);
  await release().catch(() => void retry(release, pauseAfter, { ref: false }).catch(() => {}));
}

function anotherBody(): ServiceError {
  return new ServiceError("unprocessable", "This Idempotency-Key was used with another body");
}
