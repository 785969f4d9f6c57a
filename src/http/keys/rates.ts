import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ServiceError } from "../../errors.js";
import type { Caller } from "../../keys/verify-key.js";
import type { Route } from "../core/route.js";
import { isLimited } from "../edge/limits.js";

/** Counts wrong keys by the address of their sender, at most `most` per minute; throws 429 above it. */
export function wrongKeyRates(most: number): (address: string) => Promise<void> {
  const limiter = limiterOf(most);
  return (address) => count(limiter, address, "Too many wrong keys from this address");
}

/**
 * Counts the requests of keys: at most the rate that the key is bound to, and at most `most` per minute. `/metrics`
 * responds under any load, so only the bound applies to it.
 */
export function keyRates(
  most: number | null,
): (caller: Caller, route: Pick<Route, "path">) => Promise<void> | undefined {
  const limiters = new Map<number, RateLimiterMemory>();
  return ({ keyId, bounds: { rate = Number.POSITIVE_INFINITY } }, { path }) => {
    const lower = most !== null && isLimited(path) ? Math.min(rate, most) : rate;
    if (lower === Number.POSITIVE_INFINITY) return undefined;
    const limiter = limiters.get(lower) ?? limiterOf(lower);
    limiters.set(lower, limiter);
    return lower === rate
      ? count(limiter, keyId, "The key exceeds its bound rate", "rate")
      : count(limiter, keyId, "Too many requests with this key");
  };
}

function limiterOf(perMinute: number): RateLimiterMemory {
  return new RateLimiterMemory({ points: perMinute, duration: 60 });
}

async function count(limiter: RateLimiterMemory, name: string, message: string, path = ""): Promise<void> {
  await limiter.consume(name).catch((reason: unknown) => {
    if (!(reason instanceof RateLimiterRes)) throw reason;
    const retryAfter = Math.max(1, Math.ceil(reason.msBeforeNext / 1000));
    const text = `${message}; try again in ${retryAfter} s`;
    const issues = [{ code: "too_many_requests", path, message: text }];
    throw new ServiceError("too-many-requests", text, { retryAfter, issues });
  });
}
