import { createHash, createHmac } from "node:crypto";
import { yieldWhenDue } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import { ServiceError } from "../../errors.js";
import { NEARBY_DIGITS } from "../../ids.js";
import type { Idempotency, IdempotentRequest, LedgerPosition } from "../ports.js";

/** Returns the keyed hash of a text in hex. Without the key a guess of the text cannot be confirmed. */
export type HashRequest = (text: string) => string;

/** Returns the hash of requests and their items in a store with this pepper. */
export function requestHashing(pepper: Uint8Array): HashRequest {
  return (text) => createHmac("sha256", pepper).update("repeatable request\n").update(text).digest("hex");
}

export interface IdempotencyDependencies {
  readonly hashRequest: HashRequest;
  readonly idempotency: Idempotency;
  /** See `clock.monotonicClock`. */
  readonly arrivalClock: Clock;
}

/**
 * One run of a request that may be repeated. Its items have the same ids in each run, so the store drops items that an
 * earlier or concurrent run has stored. Runs need neither a lease nor a record of progress, so a crashed run does not
 * delay others.
 */
export class RepeatableRun {
  readonly #dependencies: IdempotencyDependencies;
  readonly #id: string;
  /** The stored request; undefined before its first batch. */
  #stored: IdempotentRequest | undefined;
  #repeatedSince: LedgerPosition | undefined;
  #seen = 0;
  #digest = "";

  /** `name` identifies the request. */
  constructor(dependencies: IdempotencyDependencies, name: string) {
    this.#dependencies = dependencies;
    this.#id = dependencies.hashRequest(name);
  }

  /**
   * Hashes the next items of the body, at most one commit, and returns an id for each: the same in each run, and
   * unique. Ids of one request share a prefix, as in `clusteredIds`. Throws if an earlier run is known to have
   * had another body.
   */
  async idsFor(texts: readonly string[]): Promise<readonly string[]> {
    const digests: string[] = [];
    for (const text of texts) {
      await yieldWhenDue();
      this.#digest = this.#dependencies.hashRequest(`${this.#digest}\n${text}`);
      digests.push(this.#digest);
    }
    const { id, arrival } = this.#stored ?? (await this.#begin());
    const hashes = digests.map((digest) => {
      this.#seen += 1;
      return createHash("sha256")
        .update(JSON.stringify([id, arrival, this.#seen, digest]))
        .digest("hex");
    });
    return hashes.map((digits) => id.slice(0, NEARBY_DIGITS) + digits.slice(0, 32 - NEARBY_DIGITS));
  }

  /** First arrival of the request, Unix ms. */
  get arrival(): number | undefined {
    return this.#stored?.arrival;
  }

  /**
   * Position of the ledger at the first arrival, if an earlier or concurrent run may have stored items; otherwise
   * undefined.
   */
  get repeatedSince(): LedgerPosition | undefined {
    return this.#repeatedSince;
  }

  /** Whether an earlier run has processed the whole request. */
  get isFinished(): boolean {
    return this.#stored !== undefined && this.#stored.tally !== "";
  }

  /** Stores the tally, unless an earlier run did, and returns the stored one. Throws when that run had another body. */
  async finish(tally: string): Promise<string> {
    if (this.#stored === undefined) return tally;
    const request = { ...this.#stored, digest: this.#digest, tally };
    const first = this.isFinished ? this.#stored : await this.#dependencies.idempotency.finish(request);
    if (first !== undefined && first.digest !== request.digest) throw differentBody();
    return first?.tally ?? tally;
  }

  async #begin(): Promise<IdempotentRequest> {
    const request = { id: this.#id, arrival: this.#dependencies.arrivalClock(), digest: this.#digest, tally: "" };
    const { stored, isFirst } = await this.#dependencies.idempotency.begin(request);
    if (stored.tally === "" && stored.digest !== request.digest) throw differentBody();
    this.#repeatedSince = isFirst ? undefined : stored.began;
    this.#stored = stored;
    return stored;
  }
}

export function differentBody(): ServiceError {
  return new ServiceError("unprocessable", "This Idempotency-Key was used with another body");
}
