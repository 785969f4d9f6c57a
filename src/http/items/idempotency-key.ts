import { Type } from "@sinclair/typebox";
import { invalid } from "../../errors.js";
import type { ApiContext, Schemas } from "../core/route.js";

const PATTERN = "^[ -~]*$";
const MAX_LENGTH = 256;

/** Documents the header of a route. `effect` is its effect on a repeated request. */
export function idempotencyKey(effect: string): Schemas {
  return {
    "Idempotency-Key": Type.String({
      minLength: 1,
      maxLength: MAX_LENGTH,
      pattern: PATTERN,
      description: `Makes the request safe to repeat for 24 hours: ${effect}`,
    }),
  };
}

/** Returns the identity of a request that may be repeated; undefined without an Idempotency-Key. */
export function repeatNameOf(ctx: ApiContext): string | undefined {
  const key = ctx.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key === "" || key.length > MAX_LENGTH || !new RegExp(PATTERN).test(key)) {
    throw invalid("invalid_idempotency_key", "Idempotency-Key", "Must be 1 to 256 printable characters");
  }
  return JSON.stringify([ctx.state.keyId, ctx.path, ctx.querystring, key]);
}
