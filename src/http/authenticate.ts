import type { IncomingMessage } from "node:http";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { ServiceError } from "../errors.js";
import type { Scope } from "../keys/api-key.js";
import type { VerifyKey } from "../keys/verify-key.js";
import { overRate } from "./admission.js";
import { callerAddress } from "./caller-address.js";
import type { ApiContext, Route } from "./route.js";

export interface AuthenticateParts {
  readonly verify: VerifyKey;
  /** Of one address; one more is 429. */
  readonly wrongKeysPerMinute: number;
  /** Whether X-Forwarded-For names the caller's address. */
  readonly trustProxy: boolean;
  /** Whether a key in the query (`?key=`) is accepted. */
  readonly keyInQuery: boolean;
}

export type Authenticate = (ctx: ApiContext, route: Pick<Route, "scopes" | "alsoScope">) => Promise<void>;

/** Lets a request through to a route, or throws: 401 without a valid key, 403 with one that has none of the scopes. */
export function authenticator({ verify, wrongKeysPerMinute, trustProxy, keyInQuery }: AuthenticateParts): Authenticate {
  const wrongKeys = new RateLimiterMemory({ points: wrongKeysPerMinute, duration: 60 });

  return async (ctx, { scopes, alsoScope }) => {
    if (scopes === "keyless") return;
    const key = presentedKey(ctx.req) ?? (keyInQuery ? queryKey(ctx) : undefined);
    if (key === undefined) throw unauthenticated(HOW_TO_SEND);
    const found = verify(key);
    const caller = found instanceof Promise ? await found : found;
    if (caller === undefined) {
      await wrongKeys.consume(callerAddress(ctx.req, trustProxy)).catch((reason: unknown) => {
        throw overRate(reason, "Too many wrong keys");
      });
      throw unauthenticated(NOT_VALID);
    }
    if (!scopes.some((scope) => caller.scopes.has(scope))) throw lacksScope(scopes);
    if (alsoScope !== undefined && !caller.scopes.has(alsoScope)) throw lacksScope([alsoScope]);
    ctx.state.keyId = caller.keyId;
    ctx.state.keyName = caller.name;
    ctx.state.scopes = caller.scopes;
  };
}

/** The key of the `Authorization` header: alone, or after `Bearer` or `Token`. Undefined when there is none, as behind a scheme alone. */
export function presentedKey({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const header = headers.authorization;
  if (header === undefined) return undefined;
  return (header.startsWith("em_") ? header : header.replace(/^(?:bearer|token)(?: +|$)/i, "")) || undefined;
}

function queryKey(ctx: ApiContext): string | undefined {
  return new URLSearchParams(ctx.querystring).get("key") || undefined;
}

const HOW_TO_SEND =
  "An API key is expected in the header Authorization: em_<id>_<secret>, alone or after Bearer or Token";

/** Of every key that opens nothing: a text that depended on the reason would show which ids exist. */
const NOT_VALID = "The API key is not valid";

function unauthenticated(message: string): ServiceError {
  const issues = [{ code: "unauthenticated", path: "Authorization", message }];
  return new ServiceError("unauthenticated", "Not authorized", { issues });
}

function lacksScope(scopes: readonly Scope[]): ServiceError {
  const words = scopes.length === 1 ? `scope ${scopes[0]}` : `scopes ${scopes.join(" and ")}, of which one is needed`;
  return new ServiceError("forbidden", `The key lacks the ${words}`);
}
