/** The size of a JSON text, found without parsing it. */
export interface JsonSize {
  /** Objects, arrays and names of members. */
  readonly nodes: number;
  readonly commas: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;

/** Counts what a JSON text consists of; a text that is not JSON gets some count. */
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

/** Memory that an object, an array or a name takes, and what separates two values, bytes: more than V8 needs. */
const NODE_BYTES = 64;
const COMMA_BYTES = 16;

/** Memory that a text of this size takes together with what it is parsed to, by estimate, bytes: at most 33 times its length. */
export function parsedBytes(text: string, { nodes, commas } = jsonSize(text)): number {
  return text.length + NODE_BYTES * nodes + COMMA_BYTES * commas;
}
