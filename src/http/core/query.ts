import type { TSchema } from "@sinclair/typebox";
import { invalid } from "../../errors.js";
import { nearestWord } from "../../text.js";
import type { Route } from "./route.js";
import { parameterCheck } from "./validation.js";

/** A query that was read and checked. */
export interface Query {
  /**
   * The parameters that the route knows, in the types of their schemas: those that are given, and those that have a
   * default.
   */
  readonly values: Readonly<Record<string, unknown>>;
  /** The API key, which `key` may carry on every route. */
  readonly key: string | undefined;
}

/**
 * Reads the query of a route. Refuses more than `most` parameters, a parameter that is given twice, a value that breaks
 * its schema or is not percent-encoded UTF-8, and, unless the route ignores them, unknown parameters: a typing error
 * would otherwise be answered with the default. As in forms, `+` is a blank. A GET without query parameters ignores
 * unknown ones.
 */
export function queryReader(
  { method, query = {}, unknownQuery }: Pick<Route, "method" | "query" | "unknownQuery">,
  most: number,
): (querystring: string) => Query {
  const named = Object.entries(query);
  const names = named.map(([name]) => name);
  const readers = new Map(named.map(([name, schema]) => [name, valueReader(name, schema)]));
  const defaults = Object.fromEntries(
    named.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
  const ignoresUnknown = unknownQuery === "ignore" || (method === "GET" && named.length === 0);

  return (querystring) => {
    const values: Record<string, unknown> = { ...defaults };
    if (querystring === "" || unknownQuery === "unchecked") return { values, key: undefined };
    const pairs = querystring.split("&").filter((pair) => pair !== "");
    if (pairs.length > most) throw invalid("too_many_parameters", "", `A query has at most ${most} parameters`);
    const seen = new Set<string>();
    let key: string | undefined;
    for (const pair of pairs) {
      const { name, encoded } = partsOf(pair);
      const read = readers.get(name);
      const isKnown = read !== undefined || name === "key";
      if (!isKnown && !ignoresUnknown) throw unknownParameter(name, names);
      if (seen.has(name)) {
        const subject = isKnown ? name : "A parameter";
        throw invalid("given_twice", isKnown ? name : "", `${subject} is given more than once`);
      }
      seen.add(name);
      if (!isKnown) continue;
      const value = decode(encoded);
      if (value === undefined) throw invalid("bad_encoding", name, `${name} is not percent-encoded UTF-8`);
      if (read === undefined) key = value || undefined;
      else values[name] = read(value);
    }
    return { values, key };
  };
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const hint = known.length === 0 ? "there is none here" : `the nearest known one is ${nearestWord(name, known).word}`;
  return invalid("unknown_parameter", "", `There is a query parameter that is not known; ${hint}`);
}

/** Makes the value of a parameter from its text. */
function valueReader(name: string, schema: TSchema): (text: string) => unknown {
  if (schema.type === "boolean") return (text) => readFlag(text, name);
  const check = parameterCheck(name, schema);
  return (text) => {
    const value = schema.type === "integer" ? wholeNumber(text) : text;
    check?.(value);
    return value;
  };
}

/** A flag in a query: exactly `true` or `false`. */
function readFlag(text: string, name: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw invalid("bad_flag", name, `${name} is either true or false`);
}

/** The number that up to six digits are; any other text stays a text, which no schema of a number allows. */
function wholeNumber(text: string): number | string {
  return /^[0-9]{1,6}$/.test(text) ? Number(text) : text;
}

/** The name of a parameter, unchanged if it cannot be decoded, and its value, still encoded. */
function partsOf(pair: string): { readonly name: string; readonly encoded: string } {
  const equals = pair.indexOf("=");
  const name = equals < 0 ? pair : pair.slice(0, equals);
  return { name: decode(name) ?? name, encoded: equals < 0 ? "" : pair.slice(equals + 1) };
}

function decode(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Text without an escape. */
const PLAIN = /^[^%+]*$/;
