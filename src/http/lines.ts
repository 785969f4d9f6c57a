import { ServiceError } from "../errors.js";
import { type Line, LineSplitter } from "../formats/line-splitter.js";
import { bodyChunks } from "./body-chunks.js";
import type { ApiContext } from "./route.js";

/**
 * The lines of a body (plain or gzip), in batches as they arrive, blank ones left out: a body of any length in constant
 * memory. A line over `lineBytes`, or not UTF-8, comes as a line with an `issue`. More than `totalBytes` after inflation, or more
 * than `inflation` times what was sent, is refused as too large.
 */
export async function* readLines(
  ctx: ApiContext,
  {
    lineBytes,
    totalBytes = Number.POSITIVE_INFINITY,
    inflation,
  }: { lineBytes: number; totalBytes?: number; inflation?: number },
): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(lineBytes);
  let bytes = 0;
  for await (const chunk of bodyChunks(ctx, inflation)) {
    bytes += chunk.length;
    if (bytes > totalBytes) throw tooLarge(totalBytes);
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest.length > 0) yield rest;
}

/** The error for a body of more than `limit` bytes. */
export function tooLarge(limit: number): ServiceError {
  return new ServiceError("too-large", `The body is larger than ${limit} bytes`);
}
