/** Size of a JSON text, computed without parsing it. */
export interface JsonSize {
  /** Objects, arrays and names of members. */
  readonly nodes: number;
  readonly commas: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;

/** Counts the components of a JSON text; the result for other text is arbitrary. */
export function jsonSize(text: string): JsonSize {
  let nodes = 0;
  let commas = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === COMMA) commas += 1;
    // { is 123, [ is 91: they differ in one bit, as } and ] do.
    else if (code === COLON || (code & 0xdf) === 91) nodes += 1;
  }
  return { nodes, commas };
}

/** Memory of an object, an array or a name, and of a separator, bytes: an upper bound for V8. */
const NODE_BYTES = 64;
const COMMA_BYTES = 16;

/** Returns the estimated memory of a text of this size with its parsed value, bytes: at most 33 times its length. */
export function parsedBytes(text: string, { nodes, commas } = jsonSize(text)): number {
  return text.length + NODE_BYTES * nodes + COMMA_BYTES * commas;
}

/**
 * Returns the same estimate for a parsed value, without values that are nested more than `maxDepth` levels. Numbers
 * count as 8 characters.
 */
export function valueBytes(value: unknown, maxDepth: number): number {
  if (typeof value === "string") return value.length + COMMA_BYTES;
  if (typeof value !== "object" || value === null) return 8 + COMMA_BYTES;
  let bytes = NODE_BYTES;
  if (maxDepth === 0) return bytes;
  if (Array.isArray(value)) for (const child of value) bytes += valueBytes(child, maxDepth - 1);
  else
    for (const name in value)
      bytes += name.length + NODE_BYTES + valueBytes((value as Record<string, unknown>)[name], maxDepth - 1);
  return bytes;
}
