import { Type } from "@sinclair/typebox";
import type { ApiContext, Schemas } from "../core/route.js";
import { parameterCheck } from "../core/validation.js";

const NAME = "Idempotency-Key";

const Key = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: "^[ -~]*$",
  issue: { code: "invalid_idempotency_key", message: "Must be 1 to 256 printable characters" },
});

const check = parameterCheck(NAME, Key);

/** Documents the header of a route. `effect` is its effect on a repeated request. */
export function idempotencyKey(effect: string): Schemas {
  return { [NAME]: { ...Key, description: `Makes the request safe to repeat for 24 hours: ${effect}` } };
}

/** Returns the identity of a request that may be repeated; undefined without an Idempotency-Key. */
export function repeatNameOf(ctx: ApiContext): string | undefined {
  const key = ctx.headers["idempotency-key"];
  if (key === undefined) return undefined;
  check?.(key);
  return JSON.stringify([ctx.state.keyId, ctx.path, ctx.querystring, key]);
}
