import type { Limits } from "../../config/settings.js";
import { ServiceError } from "../../errors.js";
import { type JsonArray, splitMember } from "../../formats/json-array.js";
import { jsonErrorAt } from "../../formats/json-error.js";
import { UNCOUNTED_BYTES } from "../../memory-budget.js";
import { readBody, tooLarge } from "../core/body.js";
import { notJson, reserveParsed } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";
import { sendContinue } from "../edge/connections.js";

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
  limits: Pick<Limits, "inflation" | "batch_messages">,
): Promise<CallBody> {
  sendContinue(ctx.req, ctx.res);
  const { memory, turns } = ctx.state;
  const bytes = await readBody(ctx, isBatch ? maxBytes : Math.min(maxBytes, CALL_BYTES), limits);
  const most = limits.batch_messages;
  const member = isBatch ? splitMember(bytes, "batch", { limit: most, restBytes: CALL_BYTES }) : undefined;
  const calls = member?.elements ?? { bytes, start: 0, ends: [bytes.length], brokenAt: undefined };
  if (calls.ends.length > most) throw new ServiceError("too-large", `More than ${most} calls in a batch`);
  const rest = member?.rest ?? bytes;
  if (rest.length > CALL_BYTES) throw tooLarge(CALL_BYTES);
  if (bytes.length > UNCOUNTED_BYTES) await turns.next();
  reserveParsed(rest, memory);
  const text = rest.toString();
  try {
    return { envelope: JSON.parse(text), calls };
  } catch {
    throw notJson(textBefore(jsonErrorAt(text), text, calls));
  }
}

/** Returns the text of the body before an error, which is at `errorAt` in the text without the calls. */
function textBefore(errorAt: number, text: string, { bytes, start, ends }: JsonArray): string {
  const head = bytes.toString("utf8", 0, start);
  if (start === 0 || errorAt < head.length) return text.slice(0, errorAt);
  return bytes.toString("utf8", 0, ends.at(-1) ?? start) + text.slice(head.length, errorAt);
}
