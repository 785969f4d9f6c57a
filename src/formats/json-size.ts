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
