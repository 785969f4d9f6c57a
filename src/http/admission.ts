import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { Limits } from "../config.js";
import { ServiceError } from "../errors.js";

/** Lets in as many requests as can be served well; the others are told at once when to come back. A place is given back once. */
export interface Admission {
  /** Requests being served now. */
  readonly serving: number;
  /** Takes one of the service's places; hands out what gives it back. Throws `unavailable` when there is none. */
  enter(): () => void;
  /** Takes one of the key's places; hands out what gives it back. Throws (or rejects) `too-many-requests` when there is none. */
  enterKey(keyId: string): (() => void) | Promise<() => void>;
}

export function openAdmission(limits: Pick<Limits, "requests" | "requests_per_key" | "rate_per_key">): Admission {
  const atOnce = new Map<string, number>();
  const rate =
    limits.rate_per_key === null ? undefined : new RateLimiterMemory({ points: limits.rate_per_key, duration: 60 });
  let serving = 0;

  function leaveKey(keyId: string): void {
    const left = (atOnce.get(keyId) ?? 1) - 1;
    if (left > 0) atOnce.set(keyId, left);
    else atOnce.delete(keyId);
  }

  return {
    get serving() {
      return serving;
    },

    enter() {
      if (serving >= limits.requests) {
        throw new ServiceError("unavailable", "The service has as many requests as it can serve", { retryAfter: 1 });
      }
      serving += 1;
      return () => {
        serving -= 1;
      };
    },

    enterKey(keyId) {
      const now = atOnce.get(keyId) ?? 0;
      if (now >= limits.requests_per_key) {
        throw new ServiceError("too-many-requests", "Too many requests at once with this key", { retryAfter: 1 });
      }
      atOnce.set(keyId, now + 1);
      const leave = () => leaveKey(keyId);
      if (rate === undefined) return leave;
      return rate.consume(keyId).then(
        () => leave,
        (reason: unknown) => {
          leave();
          throw tooFast(reason);
        },
      );
    },
  };
}

function tooFast(reason: unknown): unknown {
  if (!(reason instanceof RateLimiterRes)) return reason;
  return new ServiceError("too-many-requests", "Too many requests with this key", {
    retryAfter: Math.max(1, Math.ceil(reason.msBeforeNext / 1000)),
  });
}
