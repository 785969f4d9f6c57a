import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.js";

/** Time in which a code can be used, ms. */
const VALID_MS = 15 * 60_000;

/**
 * Single-use codes of links that open the dashboard signed in, so that no link contains a key. They are kept in memory
 * with their keys, at most one at a time: a new code replaces the one before.
 */
export class SignInCodes {
  readonly #clock: Clock;
  #issued: { readonly code: string; readonly key: string; readonly until: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a code of 128 random bits for the key. */
  issue(key: string): string {
    const code = randomBytes(16).toString("hex");
    this.#issued = { code, key, until: this.#clock() + VALID_MS };
    return code;
  }

  /** Returns the key of a code and invalidates the code; undefined for an unknown, used or expired one. */
  redeem(code: string): string | undefined {
    const issued = this.#issued;
    if (issued?.code !== code) return undefined;
    this.#issued = undefined;
    return this.#clock() < issued.until ? issued.key : undefined;
  }
}
