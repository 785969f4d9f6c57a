import { yieldToStarted } from "../../async/yielding.js";
import type { Limits } from "../../config/settings.js";
import { ServiceError } from "../../errors.js";
import { type JsonArray, splitObject } from "../../formats/json-array.js";
import { UNCOUNTED_BYTES } from "../../memory-budget.js";
import { readBody, tooLarge } from "../core/body.js";
import { parseRest, reserveParsed } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";
import { sendContinue } from "../edge/connections.js";
import { soleElement } from "../items/read-items.js";

/** Maximum bytes of a call as JSON, which are the most that an entity takes: then messages of collect are as large. */
export const CALL_BYTES = 1_048_576;

/** The body of a request. */
export interface CallBody {
  /** The parsed body; of a batch, without its calls. */
  readonly envelope: unknown;
  /** The calls, not parsed. */
  readonly calls: JsonArray;
}

/**
 * Reads a body of at most `maxBytes`. The calls of a batch are only split; everything else is parsed, and has at most
 * `CALL_BYTES`. Throws `invalid` unless that is JSON, and `too-large` for too many calls.
 */
export async function readCalls(
  ctx: ApiContext,
  isBatch: boolean,
  maxBytes: number,
  limits: Pick<Limits, "batch_messages">,
): Promise<CallBody> {
  sendContinue(ctx.req, ctx.res);
  const { memory } = ctx.state;
  const bytes = await readBody(ctx, isBatch ? maxBytes : Math.min(maxBytes, CALL_BYTES));
  const most = limits.batch_messages;
  const body = splitObject(bytes, isBatch ? ["batch"] : [], { limit: most, restBytes: CALL_BYTES });
  const calls = body.lists.get("batch") ?? soleElement(bytes);
  if (calls.ends.length > most) throw new ServiceError("too-large", `More than ${most} calls in a batch`);
  if (body.rest.length > CALL_BYTES) throw tooLarge(CALL_BYTES);
  if (bytes.length > UNCOUNTED_BYTES) await yieldToStarted();
  reserveParsed(body.rest, memory);
  return { envelope: parseRest(body), calls };
}
