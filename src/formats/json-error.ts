/** Line and column of a character, counted from 1. */
interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Returns the position of the character that follows a text. */
export function positionAfter(text: string): TextPosition {
  let line = 1;
  // A loop, because a text of newlines would become millions of lines.
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) === NEWLINE) line += 1;
  return { line, column: text.length - text.lastIndexOf("\n") };
}

const NEWLINE = 10;

/** Returns the message for a line that is not JSON. */
export function lineNotJson(text: string): string {
  const { column } = positionAfter(text.slice(0, jsonErrorAt(text)));
  return `The line is not JSON: column ${column}`;
}

const BLANK = /[ \t\n\r]*/y;
/** Up to 1,000 runs of characters of a string, except the quote, the backslash and control characters, and escapes. */
const IN_STRING = /(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,1000}/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Returns the offset of the first token that is not valid JSON; the text's length if it ends too early or is valid.
 * `JSON.parse` reports no position for some errors, and its messages differ between versions of Node.
 */
export function jsonErrorAt(text: string): number {
  const open: string[] = [];
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isThere = pattern.test(text);
    if (isThere) at = pattern.lastIndex;
    return isThere;
  };
  const skipString = (): boolean => {
    if (text[at] !== '"') return false;
    at += 1;
    while (skip(IN_STRING));
    if (text[at] !== '"') return false;
    at += 1;
    return true;
  };
  /** Skips the name of a member and its colon. */
  const skipName = (): boolean => {
    skip(BLANK);
    if (!skipString()) return false;
    skip(BLANK);
    if (text[at] !== ":") return false;
    at += 1;
    return true;
  };

  for (;;) {
    skip(BLANK);
    const first = text[at];
    if (first === "[" || first === "{") {
      at += 1;
      skip(BLANK);
      const end = first === "[" ? "]" : "}";
      if (text[at] !== end) {
        open.push(end);
        if (end === "}" && !skipName()) return at;
        continue;
      }
      at += 1;
    } else if (first === '"' ? !skipString() : !skip(SCALAR)) return at;
    for (skip(BLANK); open.length > 0 && text[at] === open.at(-1); skip(BLANK)) {
      open.pop();
      at += 1;
    }
    if (open.length === 0 || text[at] !== ",") return at;
    at += 1;
    if (open.at(-1) === "}" && !skipName()) return at;
  }
}
