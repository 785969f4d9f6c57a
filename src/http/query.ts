import { invalid } from "../errors.js";
import type { ApiContext } from "./api-router.js";

/** Most parameters of a query, known or not. */
const PARAMETERS = 32;

/**
 * The values of these query parameters, as far as they are given; others are ignored. A known one that is given twice, or that is
 * not percent-encoded UTF-8, is refused, as are more than `most` parameters. As in forms, `+` stands for a blank.
 */
export function readQuery<Name extends string>(
  ctx: Pick<ApiContext, "querystring">,
  names: readonly Name[],
  most = PARAMETERS,
): Partial<Record<Name, string>> {
  const values: Partial<Record<Name, string>> = {};
  let count = 0;
  for (const pair of ctx.querystring.split("&")) {
    if (pair === "") continue;
    count += 1;
    if (count > most) throw invalid("too_many_parameters", "", `A query has at most ${most} parameters`);
    const equals = pair.indexOf("=");
    const written = decode(equals < 0 ? pair : pair.slice(0, equals));
    const name = names.find((known) => known === written);
    if (name === undefined) continue;
    if (Object.hasOwn(values, name)) throw invalid("given_twice", name, `${name} is given more than once`);
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
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

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
