import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Clock } from "../../clock.js";
import type { Settings } from "../../config/settings.js";
import { ServiceError } from "../../errors.js";
import type { KeyStore, Scope } from "../../keys/api-key.js";
import { isExpired } from "../../keys/bounds.js";
import type { Caller, VerifyKey } from "../../keys/verify-key.js";
import type { AllowsOrigin } from "../core/app.js";
import type { ApiContext, Route } from "../core/route.js";
import type { Authenticate } from "../core/run-route.js";
import { isLimited, type RequestLimits } from "../edge/limits.js";
import { requireOrigin, requireWithin } from "./bounds.js";

export interface AuthenticateDependencies {
  readonly verify: VerifyKey;
  readonly keys: Pick<KeyStore, "hasOrigin">;
  readonly clock: Clock;
  readonly settings: Pick<Settings, "http" | "limits">;
  readonly requestLimits: Pick<RequestLimits, "readKey">;
  /** Requests with an invalid key per address and minute; one more is 429. */
  readonly wrongKeysPerMinute: number;
}

/** Time limit for finding the keys of an origin, ms. */
const ORIGIN_MS = 2000;

export function authenticator({
  verify,
  keys,
  clock,
  settings: { http, limits },
  requestLimits,
  wrongKeysPerMinute,
}: AuthenticateDependencies): {
  authenticate: Authenticate;
  allowsOrigin: AllowsOrigin;
} {
  const wrongKeys = limiterOf(wrongKeysPerMinute);
  const countRate = keyRates(limits.rate_per_key);

  const authenticate: Authenticate = async (ctx, route, queryKey) => {
    const { scopes, alsoScope, keyInBody } = route;
    if (scopes === "keyless") return;
    const key =
      headerKey(ctx.req) ??
      (http.key_in_query ? queryKey : undefined) ??
      (keyInBody && (await requestLimits.readKey(callerAddress(ctx), () => keyInBody(ctx))));
    if (key === undefined) throw unauthenticated(HOW_TO_SEND);
    // Verified before it is counted: a valid key works from an address with too many wrong keys.
    const caller = await verify(key);
    if (caller === undefined) {
      await count(wrongKeys, callerAddress(ctx), "Too many wrong keys from this address");
      throw unauthenticated(NOT_VALID);
    }
    if (isExpired(caller.bounds, clock())) throw unauthenticated(EXPIRED);
    requireOrigin(ctx, caller.bounds);
    await countRate(caller, route);
    if (!scopes.some((scope) => caller.scopes.has(scope))) throw lacksScope(scopes);
    if (alsoScope !== undefined && !caller.scopes.has(alsoScope)) throw lacksScope([alsoScope]);
    ctx.state.keyId = caller.keyId;
    ctx.state.keyName = caller.name;
    ctx.state.scopes = caller.scopes;
    ctx.state.bounds = caller.bounds;
    requireWithin(route, ctx);
  };

  async function isBound(ctx: Parameters<AllowsOrigin>[0], origin: string): Promise<boolean> {
    const queryKey = http.key_in_query ? new URLSearchParams(ctx.querystring).get("key") : null;
    const key = headerKey(ctx.req) ?? queryKey;
    const caller = key === null || ctx.method === "OPTIONS" ? undefined : await verify(key);
    return caller === undefined ? keys.hasOrigin(origin, clock()) : (caller.bounds.origins?.includes(origin) ?? false);
  }

  return {
    authenticate,
    allowsOrigin: (ctx, origin) => withTimeLimit(ORIGIN_MS, [], () => isBound(ctx, origin)).catch(() => false),
  };
}

/**
 * Returns the key of the `Authorization` header: alone, after `Bearer` or `Token`, or as user name or password of
 * `Basic`. Undefined without a key.
 */
function headerKey({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const header = headers.authorization;
  if (header === undefined || header.startsWith("em_")) return header;
  const text = header.replace(/^(?:bearer|token|basic)(?: +|$)/i, "");
  return (/^basic /i.test(header) ? basicKey(text) : text) || undefined;
}

/** Returns the password, or the user name if the password is no key: many clients need both. */
function basicKey(encoded: string): string {
  const [, user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, "base64").toString()) ?? [];
  return password.startsWith("em_") ? password : user || password;
}

/** `1.2.3.4:567` and `[::1]:567`: some proxies forward addresses with ports. */
const WITH_PORT = /^\[?(.*?)\]?:\d+$/;

/** Returns the address that Koa finds for the caller, without a port: each connection has another one. */
function callerAddress({ ip }: ApiContext): string {
  return isIPv6(ip) ? ip : ip.replace(WITH_PORT, "$1");
}

const FORM = "em_<id>_<secret>, alone, after Bearer or Token, or as user name or password of Basic";

const HOW_TO_SEND = `Send an API key in the Authorization header: ${FORM}`;

/** One text for every invalid key: a text that depends on the reason would reveal which ids exist. */
const NOT_VALID = `The API key is not valid; its form must be ${FORM}`;

/** Sent only for the whole text of a key. */
const EXPIRED = "The API key has expired: its bound expires has passed";

function unauthenticated(message: string): ServiceError {
  const issues = [{ code: "unauthenticated", path: "Authorization", message }];
  return new ServiceError("unauthenticated", "Not authorized", { issues });
}

function lacksScope(scopes: readonly Scope[]): ServiceError {
  const words = scopes.length === 1 ? `scope ${scopes[0]}` : `scopes ${scopes.join(" and ")}, of which one is needed`;
  return new ServiceError("forbidden", `The key lacks the ${words}`);
}

/**
 * Counts the requests of keys: at most the rate that the key is bound to, and at most `most` per minute. `/metrics`
 * responds under any load, so only the bound applies to it.
 */
function keyRates(most: number | null): (caller: Caller, route: Pick<Route, "path">) => Promise<void> | undefined {
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
