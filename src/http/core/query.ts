import type { TSchema } from "@sinclair/typebox";
import { invalid } from "../../errors.js";
import { knownNames } from "../../text.js";
import type { Route } from "./route.js";
import { parameterCheck } from "./validation.js";

/** A parsed and validated query. */
export interface Query {
  /** Known parameters in the types of their schemas: those given and those with a default. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The API key, which every route accepts as `key`. */
  readonly key: string | undefined;
}

/** Maximum parameters of a query. */
const MAX_PARAMETERS = 32;

/**
 * Creates the parser of a route's query. It throws for more than 32 parameters, repeated parameters, values that
 * violate their schema or are not percent-encoded UTF-8, and, unless the route ignores them, unknown parameters: a
 * typing error would otherwise get the default. As in forms, `+` is a blank. A GET without query parameters ignores
 * unknown ones. A parameter with the schema of an array may be repeated, and has the list of its values.
 */
export function queryReader({
  method,
  query = {},
  unknownQuery,
}: Pick<Route, "method" | "query" | "unknownQuery">): (querystring: string) => Query {
  const named = Object.entries(query);
  const names = named.map(([name]) => name);
  const readers = new Map(named.map(([name, schema]) => [name, valueReader(name, schema)]));
  const repeatable = new Set(named.flatMap(([name, { type }]) => (type === "array" ? name : [])));
  const defaults = Object.fromEntries(
    named.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
  const ignoresUnknown = unknownQuery === "ignore" || (method === "GET" && named.length === 0);

  return (querystring) => {
    const values: Record<string, unknown> = { ...defaults };
    if (querystring === "" || unknownQuery === "unchecked") return { values, key: undefined };
    const pairs = querystring.split("&").filter((pair) => pair !== "");
    if (pairs.length > MAX_PARAMETERS)
      throw invalid("too_many_parameters", "", `A query has at most ${MAX_PARAMETERS} parameters`);
    const seen = new Set<string>();
    let key: string | undefined;
    for (const pair of pairs) {
      const { name, encoded } = partsOf(pair);
      const read = readers.get(name);
      const isKnown = read !== undefined || name === "key";
      if (!isKnown && !ignoresUnknown) throw unknownParameter(name, names);
      if (seen.has(name) && !repeatable.has(name)) {
        const subject = isKnown ? name : "A parameter";
        throw invalid("duplicate", isKnown ? name : "", `${subject} is given more than once`);
      }
      seen.add(name);
      if (!isKnown) continue;
      const value = decode(encoded);
      if (value === undefined) throw invalid("invalid_encoding", name, `${name} is not percent-encoded UTF-8`);
      if (read === undefined) key = value || undefined;
      else if (repeatable.has(name)) values[name] = [values[name] ?? [], read(value)].flat();
      else values[name] = read(value);
    }
    return { values, key };
  };
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const hint = known.length === 0 ? "this route has none" : knownNames(name, known);
  return invalid("unknown_parameter", "", `Unknown query parameter; ${hint}`);
}

/** Creates the function that converts a parameter's text to its value. */
function valueReader(name: string, schema: TSchema): (text: string) => unknown {
  if (schema.type === "boolean") return (text) => readFlag(text, name);
  const check = parameterCheck(name, schema);
  return (text) => {
    const value = schema.type === "integer" ? wholeNumber(text) : text;
    check?.(value);
    return value;
  };
}

/** Parses a flag: exactly `true` or `false`. */
function readFlag(text: string, name: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw invalid("invalid_flag", name, `${name} must be true or false`);
}

/** Parses up to six digits; returns other text unchanged, which the number schemas refuse. */
function wholeNumber(text: string): number | string {
  return /^[0-9]{1,6}$/.test(text) ? Number(text) : text;
}

/** Splits a pair into its name, unchanged if it cannot be decoded, and its encoded value. */
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
