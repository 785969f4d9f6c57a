import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { NewConnections } from "../async/yielding.js";
import type { Limits } from "../config/settings.js";
import { ServiceError } from "../errors.js";
import { whenOut } from "./connections.js";
import type { ApiContext } from "./route.js";
import { Turns } from "./turns.js";

/** Lets in as many requests as can be served well; the others get at once an error that says when to come back. A place is given back once. */
export interface Admission {
  /** Requests that have a place now. */
  readonly serving: number;
  /** Whether one more request is refused: all places are taken, or requests that have one wait too long for their turn. */
  readonly isFull: boolean;
  /** Whether some key has none of its places left. */
  readonly hasFullKey: boolean;
  /** Whether this one has none left. */
  isKeyFull(keyId: string): boolean;
  /** When the work of a request that has a place begins. */
  readonly turns: Turns;
  /** Takes one of the service's places; hands out what gives it back. Throws `unavailable` when there is none. */
  enter(): () => void;
  /** Takes one of the key's places; hands out what gives it back. Throws (or rejects) `too-many-requests` when there is none. */
  enterKey(keyId: string): (() => void) | Promise<() => void>;
}

export function openAdmission(
  limits: Pick<Limits, "requests" | "requests_per_key" | "rate_per_key">,
  connections: NewConnections,
): Admission {
  const atOnce = new Map<string, number>();
  const rate =
    limits.rate_per_key === null ? undefined : new RateLimiterMemory({ points: limits.rate_per_key, duration: 60 });
  const turns = new Turns(connections);
  const fullKeys = new Set<string>();
  let serving = 0;

  function leaveKey(keyId: string): void {
    fullKeys.delete(keyId);
    const left = (atOnce.get(keyId) ?? 1) - 1;
    if (left > 0) atOnce.set(keyId, left);
    else atOnce.delete(keyId);
  }

  return {
    turns,

    get serving() {
      return serving;
    },

    get isFull() {
      return serving >= limits.requests || turns.isBehind;
    },

    get hasFullKey() {
      return fullKeys.size > 0;
    },

    isKeyFull: (keyId) => fullKeys.has(keyId),

    enter() {
      if (this.isFull) throw noPlace();
      serving += 1;
      return () => {
        serving -= 1;
      };
    },

    enterKey(keyId) {
      if (fullKeys.has(keyId)) throw noPlaceOfKey();
      const now = (atOnce.get(keyId) ?? 0) + 1;
      atOnce.set(keyId, now);
      if (now >= limits.requests_per_key) fullKeys.add(keyId);
      const leave = () => leaveKey(keyId);
      if (rate === undefined) return leave;
      return rate.consume(keyId).then(
        () => leave,
        (reason: unknown) => {
          leave();
          throw overRate(reason, "Too many requests with this key");
        },
      );
    },
  };
}

/** The error for a request that gets no place. */
export function noPlace(): ServiceError {
  return new ServiceError("unavailable", "The service has as many requests as it can serve", { retryAfter: 1 });
}

/** The error for a request whose key has no place left. */
export function noPlaceOfKey(): ServiceError {
  return new ServiceError("too-many-requests", "Too many requests at once with this key", { retryAfter: 1 });
}

/** What a rate limiter rejected with, as the error for the caller; any other reason as it is. */
export function overRate(reason: unknown, message: string): unknown {
  if (!(reason instanceof RateLimiterRes)) return reason;
  const retryAfter = Math.max(1, Math.ceil(reason.msBeforeNext / 1000));
  return new ServiceError("too-many-requests", message, { retryAfter });
}

/** Bytes of a body below which it is neither counted nor refused: the number of requests at once bounds these. */
const SMALL = 65_536;

/** Bounds the memory of responses that are finished and wait for their callers to take them. */
export type BoundUnsent = (ctx: ApiContext) => void;

/** Lets `most` bytes wait at once; then a large response more is refused as `unavailable`, unless it is the only one. */
export function boundUnsent(most: number): BoundUnsent {
  let waiting = 0;
  return (ctx) => {
    const bytes = bodyBytes(ctx);
    if (bytes <= SMALL) return;
    if (waiting > 0 && waiting + bytes > most) {
      throw new ServiceError("unavailable", "Too many answers wait for their callers to take them", { retryAfter: 1 });
    }
    waiting += bytes;
    whenOut(ctx.res, () => {
      waiting -= bytes;
    });
  };
}

/** Bytes of the body that will be sent, made text if it is an object. */
function bodyBytes(ctx: ApiContext): number {
  const { body } = ctx;
  if (body === null || body === undefined || ctx.method === "HEAD") return 0;
  if (typeof body === "object" && !Buffer.isBuffer(body)) {
    // A stream is read no faster than its caller takes it.
    if ("pipe" in body) return 0;
    ctx.body = JSON.stringify(body);
  }
  return ctx.length ?? 0;
}
