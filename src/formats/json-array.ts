/** Positions of the elements of a JSON array in its bytes. Elements are separated by one comma. */
interface Elements<Bytes extends Uint8Array> {
  readonly bytes: Bytes;
  /** Offset of the first element. */
  readonly start: number;
  /** Offset of the end of each element: of its comma, or of the bracket after the last. */
  readonly ends: readonly number[];
}

export interface JsonArray<Bytes extends Uint8Array = Buffer> extends Elements<Bytes> {
  /** Offset of an error in the array's end or after it; undefined if there is none. */
  readonly brokenAt: number | undefined;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPENING = 91;
const CLOSING = 93;
const BRACE = 123;

/**
 * Splits a JSON array into its elements without parsing them; undefined if the bytes are not an array. Stops after
 * `limit` elements: `ends` then has `limit` + 1 entries. The array is valid JSON if all elements are valid and it is
 * not broken.
 */
export function splitArray<Bytes extends Uint8Array>(bytes: Bytes, limit: number): JsonArray<Bytes> | undefined {
  const found = elementsAt(bytes, firstNonBlank(bytes, 0), limit);
  if (found === undefined) return undefined;
  const { end, ...elements } = found;
  if (elements.ends.length > limit) return { ...elements, brokenAt: undefined };
  const after = bytes[end] === CLOSING ? firstNonBlank(bytes, end + 1) : end;
  const isBroken = after < bytes.length || bytes[end] !== CLOSING;
  return { ...elements, brokenAt: isBroken ? after : undefined };
}

/** A JSON object whose long lists are split off. */
export interface SplitObject {
  readonly bytes: Buffer;
  /** The lists that were split off, by name. */
  readonly lists: ReadonlyMap<string, JsonArray>;
  /** The object with empty arrays in their place: with it, all bytes are valid JSON if all elements are. */
  readonly rest: Buffer;
  /** Offset in `bytes` of an offset in `rest`. */
  offsetOf(restOffset: number): number;
}

/**
 * Splits the members of a JSON object that are arrays and have one of these names (ASCII, written without escapes),
 * without parsing: the first of each name. Stops a list after `limit` elements, as `splitArray` does, and the search
 * when the rest has more than `restBytes`. A text that is no object has no lists.
 */
export function splitObject(
  bytes: Buffer,
  names: readonly string[],
  { limit, restBytes }: { readonly limit: number; readonly restBytes: number },
): SplitObject {
  const lists = new Map<string, JsonArray>();
  const cuts: { readonly from: number; readonly to: number }[] = [];
  const first = firstNonBlank(bytes, 0);
  let end = bytes[first] === BRACE ? Math.min(bytes.length, restBytes) : 0;
  let depth = 0;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      const start = at + 1;
      at = endOfString(bytes, start);
      if (depth !== 1) continue;
      const name = names.find((one) => one.length === at - start && bytes.toString("latin1", start, at) === one);
      const colon = firstNonBlank(bytes, at + 1);
      if (name === undefined || lists.has(name) || bytes[colon] !== COLON) continue;
      const found = elementsAt(bytes, firstNonBlank(bytes, colon + 1), limit);
      if (found === undefined) continue;
      const { end: listEnd, ...elements } = found;
      lists.set(name, { ...elements, brokenAt: undefined });
      cuts.push({ from: elements.start, to: listEnd });
      at = listEnd;
      end = Math.min(bytes.length, end + listEnd - elements.start);
    } else if ((byte & 0xdf) === OPENING) depth += 1;
    else if ((byte & 0xdf) === CLOSING) depth -= 1;
  }
  const starts = [0, ...cuts.map(({ to }) => to)];
  const rest = Buffer.concat(starts.map((start, i) => bytes.subarray(start, cuts[i]?.from)));
  const offsetOf = (restOffset: number) =>
    cuts.reduce((offset, { from, to }) => (offset < from ? offset : offset + to - from), restOffset);
  return { bytes, lists, rest, offsetOf };
}

/**
 * Returns the elements of the array that begins at `bracket`, and the offset of its end; undefined if none begins
 * there.
 */
function elementsAt<Bytes extends Uint8Array>(
  bytes: Bytes,
  bracket: number,
  limit: number,
): (Elements<Bytes> & { readonly end: number }) | undefined {
  if (bytes[bracket] !== OPENING) return undefined;
  const start = bracket + 1;
  const ends: number[] = [];
  let depth = 1;
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (byte === COMMA) {
      if (depth > 1) continue;
      ends.push(at);
      if (ends.length > limit) return { bytes, start, ends, end: at };
    } else if ((byte & 0xdf) === OPENING) depth += 1;
    else if ((byte & 0xdf) === CLOSING) {
      depth -= 1;
      if (depth === 0) break;
    }
  }
  const end = Math.min(at, bytes.length);
  if (ends.length > 0 || firstNonBlank(bytes, start) < end) ends.push(end);
  return { bytes, start, ends, end };
}

/**
 * Returns the offset of the first element from `index` on, so that elements `from` to `to` are the bytes from
 * `startOf(from)` to `ends[to]`.
 */
export function startOf({ start, ends }: Pick<JsonArray, "start" | "ends">, index: number): number {
  return index === 0 ? start : (ends[index - 1] as number) + 1;
}

function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
  return at;
}

/** Returns the offset of the first byte from `from` on that is no blank of JSON. */
export function firstNonBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9) at += 1;
  return at;
}
