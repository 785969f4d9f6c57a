import type { TSchema } from "@sinclair/typebox";
import { invalid } from "../errors.js";
import { nearestWord } from "../names.js";
import type { Route, Schemas } from "./route.js";
import { parameterCheck } from "./validation.js";

/**
 * Refuses a query of more than `most` parameters, one that gives a parameter twice, and, on a route that does not ignore
 * them, parameters that are not known: a typing error would otherwise be answered with the default in silence.
 */
export function queryCheck(
  {
    method,
    query,
    openQuery = method === "GET" && query === undefined,
    queryOfPage = false,
  }: Pick<Route, "method" | "query" | "openQuery" | "queryOfPage">,
  most: number,
): (querystring: string) => void {
  if (queryOfPage) return () => {};
  const names = Object.keys(query ?? {});
  return (querystring) => {
    if (querystring === "") return;
    const pairs = querystring.split("&").filter((pair) => pair !== "");
    if (pairs.length > most) throw invalid("too_many_parameters", "", `A query has at most ${most} parameters`);
    const seen = new Set<string>();
    for (const pair of pairs) {
      const { name } = partsOf(pair);
      // On every route `key` may carry the API key.
      const known = name === "key" || names.includes(name);
      if (!known && !openQuery) throw unknownParameter(name, names);
      if (seen.has(name)) {
        throw invalid("given_twice", known ? name : "", `${known ? name : "A parameter"} is given more than once`);
      }
      seen.add(name);
    }
  };
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const hint = known.length === 0 ? "there is none here" : `the nearest known one is ${nearestWord(name, known).word}`;
  return invalid("unknown_parameter", "", `There is a query parameter that is not known; ${hint}`);
}

/**
 * Reads the values of these query parameters, in the types of their schemas: the ones that are given, and the ones that have a default. A
 * value that is not percent-encoded UTF-8 is refused. As in forms, `+` stands for a blank.
 */
export function queryReader(schemas: Schemas): (querystring: string) => Record<string, unknown> {
  const named = Object.entries(schemas);
  const readers = new Map(named.map(([name, schema]) => [name, valueReader(name, schema)]));
  const defaults = Object.fromEntries(
    named.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
  return (querystring) => {
    const values: Record<string, unknown> = { ...defaults };
    if (querystring === "" || readers.size === 0) return values;
    for (const pair of querystring.split("&")) {
      const { name, encoded } = partsOf(pair);
      const read = readers.get(name);
      if (read === undefined) continue;
      const value = decode(encoded);
      if (value === undefined) throw invalid("bad_encoding", name, `${name} is not percent-encoded UTF-8`);
      values[name] = read(value);
    }
    return values;
  };
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

/** A parameter's name, as it came where it cannot be decoded, and its value, still encoded. */
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

/** What stands for itself. */
const PLAIN = /^[^%+]*$/;
