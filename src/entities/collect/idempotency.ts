import { createHash, createHmac } from "node:crypto";
import { pacer } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import { ServiceError } from "../../errors.js";
import { NEARBY_DIGITS } from "../../ids.js";
import type { Idempotency, IdempotentRequest } from "../ports.js";

/** Keyed hash of a text, hex: without the key no guess of the text can be confirmed. */
export type HashRequest = (text: string) => string;

/** How requests and their messages are hashed in a store made with this pepper. */
export function requestHashing(pepper: Uint8Array): HashRequest {
  return (text) => createHmac("sha256", pepper).update("repeatable request\n").update(text).digest("hex");
}

export interface IdempotencyParts {
  readonly hashRequest: HashRequest;
  readonly idempotency: Idempotency;
  /** See `clock.monotonicClock`. */
  readonly arrivals: Clock;
}

/**
 * One run of a request that may be repeated. The ids of its messages are the same in each run, so the history drops messages
 * that an earlier or concurrent run has stored. A run needs neither a lease nor a record of progress; a dead run delays no other.
 */
export class RepeatableRun {
  readonly #parts: IdempotencyParts;
  readonly #id: string;
  readonly #pace = pacer();
  /** The stored request; undefined before its first batch. */
  #stored: IdempotentRequest | undefined;
  #isRepeat = false;
  #seen = 0;
  #digest = "";

  /** `name` tells the request apart from all others. */
  constructor(parts: IdempotencyParts, name: string) {
    this.#parts = parts;
    this.#id = parts.hashRequest(name);
  }

  /**
   * Takes note of the next messages of the body, all that one commit may bring, and returns an id for each: the same in each run, and for no other message. Ids
   * of one request begin alike, as those of `clusteredIds` do. Refused when an earlier run had another body, as far as that is known by now.
   */
  async meet(texts: readonly string[]): Promise<readonly string[]> {
    const digests: string[] = [];
    for (const text of texts) {
      await this.#pace();
      this.#digest = this.#parts.hashRequest(`${this.#digest}\n${text}`);
      digests.push(this.#digest);
    }
    const { id, arrival } = this.#stored ?? (await this.#begin());
    const own = digests.map((digest) => {
      this.#seen += 1;
      return createHash("sha256")
        .update(JSON.stringify([id, arrival, this.#seen, digest]))
        .digest("hex");
    });
    return own.map((digits) => id.slice(0, NEARBY_DIGITS) + digits.slice(0, 32 - NEARBY_DIGITS));
  }

  /** When the request arrived for the first time, Unix ms. */
  get arrival(): number | undefined {
    return this.#stored?.arrival;
  }

  /** Whether an earlier run, or one that is in progress, may have stored messages. */
  get isRepeat(): boolean {
    return this.#isRepeat;
  }

  /** Whether an earlier run has processed the whole request. */
  get isFinished(): boolean {
    return this.#stored !== undefined && this.#stored.tally !== "";
  }

  /** Ends the body. Returns the tally of the run that did so first, which is `tally` if none did. Refused when that run had another body. */
  async finish(tally: string): Promise<string> {
    if (this.#stored === undefined) return tally;
    const own = { ...this.#stored, digest: this.#digest, tally };
    const first = this.isFinished ? this.#stored : await this.#parts.idempotency.finish(own);
    if (first !== undefined && first.digest !== own.digest) throw anotherBody();
    return first?.tally ?? tally;
  }

  async #begin(): Promise<IdempotentRequest> {
    const own = { id: this.#id, arrival: this.#parts.arrivals(), digest: this.#digest, tally: "" };
    const stored = await this.#parts.idempotency.begin(own);
    if (stored.tally === "" && stored.digest !== own.digest) throw anotherBody();
    this.#isRepeat = stored.arrival !== own.arrival;
    this.#stored = stored;
    return stored;
  }
}

function anotherBody(): ServiceError {
  return new ServiceError("unprocessable", "This Idempotency-Key was used with another body");
}
