import { RE2JS, RE2JSException } from "re2js";

/** A condition on a label. A label that a series does not have has the value "". */
export interface LabelMatcher {
  /** `__name__` is the name of the metric. */
  readonly label: string;
  matches(value: string): boolean;
}

/** The reason why a text is no selector, as the end of a sentence. Does not repeat the text. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

export const METRIC_NAME = "__name__";

/**
 * Maximum size of all regular expressions of a selector: the characters of each, multiplied by its repetition counts.
 * The time of a match is linear in this size, and a few ms at most for the longest label.
 */
const MAX_PATTERNS_SIZE = 1_000;

/** Additional sizes, of what takes longer to compile: a class such as \pL, and a range to a letter beyond ASCII. */
const CLASS_SIZE = 20;
const RANGE_SIZE = 200;

interface Token {
  readonly kind: "name" | "sign" | "text" | "end";
  readonly value: string;
  /** Position in the selector, counted from 1. */
  readonly at: number;
}

/**
 * Parses a series selector of Prometheus: `name`, `{label="value", …}` or both, with the operators `=`, `!=`, `=~` and
 * `!~`. Within the braces the names of the metric and of labels may be in quotes, as Prometheus 3 writes them:
 * `{"name", "label"="value"}`. A series is selected if all matchers match. Throws a `SelectorError`.
 */
export function parseSelector(selector: string): readonly LabelMatcher[] {
  const tokens = tokensOf(selector);
  const read = (expected: string, isExpected: (token: Token) => boolean): Token => {
    const token = tokens.next().value as Token;
    if (!isExpected(token)) throw new SelectorError(`is not valid at character ${token.at}: ${expected} is expected`);
    return token;
  };
  const isSign =
    (...signs: readonly string[]) =>
    (token: Token) =>
      token.kind === "sign" && signs.includes(token.value);
  const matchers: LabelMatcher[] = [];
  let size = 0;

  const first = read("a metric name or {", (token) => token.kind === "name" || isSign("{")(token));
  if (first.kind === "name") matchers.push(matcher(METRIC_NAME, "=", first.value));
  const opening = first.kind === "name" ? read("{", (token) => token.kind === "end" || isSign("{")(token)) : first;
  let names = matchers.length;
  while (opening.kind === "sign") {
    const label = read("a label name or }", (token) => isLabelName(token) || isSign("}")(token));
    if (label.kind === "sign") break;
    const signs = ["=", "!=", "=~", "!~", ...(label.kind === "text" ? [",", "}"] : [])];
    let next = read(`one of ${signs.join(" ")}`, isSign(...signs));
    if (next.value === "," || next.value === "}") {
      matchers.push(matcher(METRIC_NAME, "=", label.value));
      names += 1;
    } else {
      const { value } = read("a value in quotes", ({ kind }) => kind === "text");
      if (isPattern(next.value)) size += patternSize(value);
      if (size > MAX_PATTERNS_SIZE) throw new SelectorError("has regular expressions that are too large");
      matchers.push(matcher(label.value, next.value, value));
      next = read(", or }", isSign(",", "}"));
    }
    if (next.value === "}") break;
  }
  if (opening.kind === "sign") read("the end", ({ kind }) => kind === "end");
  if (names > 0 && matchers.filter(({ label }) => label === METRIC_NAME).length > 1)
    throw new SelectorError("names its metric twice");
  if (matchers.every(({ matches }) => matches("")))
    throw new SelectorError("needs a matcher that does not match the empty text");
  return matchers;
}

function matcher(label: string, operator: string, value: string): LabelMatcher {
  const matches = isPattern(operator) ? patternTest(value) : (text: string) => text === value;
  return { label, matches: operator.startsWith("!") ? (text) => !matches(text) : matches };
}

function isPattern(operator: string): boolean {
  return operator.endsWith("~");
}

function patternSize(pattern: string): number {
  const counts = Array.from(pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g), ([, least, most]) => Number(most || least));
  const numberOf = (part: RegExp) => pattern.match(part)?.length ?? 0;
  const length = pattern.length + CLASS_SIZE * numberOf(/\\p/gi) + RANGE_SIZE * numberOf(/-[\\\u0080-\uffff]/g);
  return counts.reduce((product, count) => product * Math.max(1, count), length);
}

/** Returns the test of a whole text by a pattern in the syntax of RE2, in time linear in the text. */
function patternTest(pattern: string): (text: string) => boolean {
  try {
    const regex = RE2JS.compile(pattern, RE2JS.DOTALL);
    return (text) => regex.matches(text);
  } catch (error) {
    if (error instanceof RE2JSException) throw new SelectorError("has a regular expression that is not valid in RE2");
    throw error;
  }
}

function isLabelName({ kind, value }: Token): boolean {
  return kind === "text" || (kind === "name" && !value.includes(":"));
}

/** A name, an operator or bracket, or a text in quotes of one of three kinds. */
const TOKEN = /([A-Za-z_:][\w:]*)|(=~|!~|!=|=|[{},])|"((?:[^"\\\n]|\\[^\n])*)"|'((?:[^'\\\n]|\\[^\n])*)'|`([^`]*)`|$/y;

/** Yields the tokens; the last one is the end, again and again. */
function* tokensOf(selector: string): Generator<Token, never> {
  for (let start = 0; ; ) {
    while (/[ \t\r\n]/.test(selector.charAt(start))) start += 1;
    TOKEN.lastIndex = start;
    const found = TOKEN.exec(selector);
    const at = start + 1;
    if (found === null) throw new SelectorError(`has an unexpected character or an open quote at character ${at}`);
    const [all, name, sign, double, single, raw] = found;
    const quoted = double ?? single;
    start += all.length;
    if (name !== undefined) yield { kind: "name", value: name, at };
    else if (sign !== undefined) yield { kind: "sign", value: sign, at };
    else if (quoted !== undefined) yield { kind: "text", value: unescaped(quoted, at), at };
    else if (raw !== undefined) yield { kind: "text", value: raw, at };
    else yield { kind: "end", value: "", at };
  }
}

const ESCAPES = /\\(?:([abfnrtv\\'"])|x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)/gsu;

const CONTROLS = { from: "abfnrtv", to: "\x07\b\f\n\r\t\v" };

function unescaped(quoted: string, at: number): string {
  return quoted.replace(ESCAPES, (_, letter?: string, byte?: string, short?: string, long?: string) => {
    if (letter !== undefined) return CONTROLS.to[CONTROLS.from.indexOf(letter)] ?? letter;
    const code = Number.parseInt(byte ?? short ?? long ?? "", 16);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    throw new SelectorError(`has an unknown escape in the text at character ${at}`);
  });
}
