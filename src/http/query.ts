import { invalid } from "../errors.js";
import { nearestWord } from "../nearest-word.js";
import type { ApiContext, Route } from "./api-router.js";

/** The parameter that may carry the API key, on every route. */
const KEY = "key";

/**
 * Refuses a query of more than `most` parameters, one that gives a parameter twice, and, on a route that does not ignore
 * them, parameters that are not known: a typing error would otherwise be answered with the default in silence.
 */
export function checkQuery(
  querystring: string,
  { query, openQuery }: Pick<Route, "query" | "openQuery">,
  most: number,
): void {
  if (querystring === "") return;
  const pairs = querystring.split("&").filter((pair) => pair !== "");
  if (pairs.length > most) throw invalid("too_many_parameters", "", `A query has at most ${most} parameters`);
  const seen = new Set<string>();
  for (const pair of pairs) {
    const { name } = partsOf(pair);
    const known = name === KEY || query.includes(name);
    if (!known && !openQuery) throw unknownParameter(name, query);
    if (seen.has(name)) {
      throw invalid("given_twice", known ? name : "", `${known ? name : "A parameter"} is given more than once`);
    }
    seen.add(name);
  }
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const hint = known.length === 0 ? "there is none here" : `the nearest known one is ${nearestWord(name, known).word}`;
  return invalid("unknown_parameter", "", `There is a query parameter that is not known; ${hint}`);
}

/**
 * The values of these query parameters, as far as they are given. One that is not percent-encoded UTF-8 is refused. As in
 * forms, `+` stands for a blank.
 */
export function readQuery<Name extends string>(
  ctx: Pick<ApiContext, "querystring">,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const values: Partial<Record<Name, string>> = {};
  for (const pair of ctx.querystring.split("&")) {
    const { name: written, value } = partsOf(pair);
    const name = names.find((known) => known === written);
    if (name === undefined) continue;
    if (value === undefined) throw invalid("bad_encoding", name, `${name} is not percent-encoded UTF-8`);
    values[name] = value;
  }
  return values;
}

/** A flag in a query: exactly `true` or `false`; undefined when it is not given. */
export function readFlag(value: string | undefined, name: string): boolean | undefined {
  if (value === undefined) return undefined;
  if (value === "true" || value === "false") return value === "true";
  throw invalid("bad_flag", name, `${name} is either true or false`);
}

/** Name and value of a parameter; a name that cannot be decoded stands as it came, such a value is undefined. */
function partsOf(pair: string): { name: string; value: string | undefined } {
  const equals = pair.indexOf("=");
  const name = equals < 0 ? pair : pair.slice(0, equals);
  return { name: decode(name) ?? name, value: decode(equals < 0 ? "" : pair.slice(equals + 1)) };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
