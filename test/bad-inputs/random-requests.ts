import fc from "fast-check";
import { type OpenApi, type Operation, operationsOf, type Parameter } from "../support/openapi-walk.js";

/** A request as it goes out. */
export interface RandomRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

interface Schema {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly pattern?: string;
  readonly properties?: Record<string, Schema>;
}

/** Requests of every operation of the document: good ones, nearly good ones and rubbish. */
export function randomRequests(document: OpenApi, keys: readonly string[]): fc.Arbitrary<RandomRequest> {
  const operations = operationsOf(document).map(({ method, path, operation }) =>
    requestOf(method, path, operation, keys),
  );
  return fc.oneof(...operations);
}

function requestOf(
  method: string,
  path: string,
  operation: Operation,
  keys: readonly string[],
): fc.Arbitrary<RandomRequest> {
  const inPlace = (place: string) => operation.parameters.filter((parameter) => parameter.in === place);
  const contents = Object.entries(operation.requestBody?.content ?? {});
  // NDJSON contains the elements of a JSON body.
  const json = operation.requestBody?.content["application/json"];
  return fc
    .record({
      method: mostly(
        fc.constant(method),
        fc.constantFrom("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"),
      ),
      path: pathOf(path, inPlace("path")),
      query: queryOf(inPlace("query")),
      key: mostly(fc.constantFrom(...keys), mostly(fc.constant(undefined), headerText)),
      headers: fc.record(Object.fromEntries(inPlace("header").map(({ name }) => [name, fc.option(headerText)]))),
      content:
        contents.length === 0
          ? rarely(bodyOf("application/json", {}))
          : fc.oneof(...contents.map(([type, { schema }]) => bodyOf(type, json?.schema ?? schema))),
      encoding: rarely(fc.constantFrom("gzip", "br", "identity", "deflate", "x")),
    })
    .map(({ method, path, query, key, headers, content, encoding }) => {
      const all = { ...headers, authorization: key, "content-type": content?.type, "content-encoding": encoding };
      const known = Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === "string");
      return { method, path: `${path}${query}`, headers: Object.fromEntries(known), body: content?.text };
    });
}

function pathOf(path: string, parameters: readonly Parameter[]): fc.Arbitrary<string> {
  const parts = path.split("/").map((part) => {
    const parameter = parameters.find(({ name }) => part === `{${name}}`);
    if (parameter === undefined) return rarely(segment).map((odd) => odd ?? part);
    return mostly(fc.constantFrom(...(samples[parameter.name] ?? ["a", "b", "web"])), segment);
  });
  return fc.tuple(...parts).map((segments) => `/${segments.slice(1).join("/")}`);
}

/** Values of path parameters that lead somewhere. */
const samples: Record<string, readonly string[]> = {
  table: ["user", "user", "account"],
  fieldname: ["email", "_uid", "user_id"],
  fieldval: ["ann@example.com", "a", "5", "b"],
  file: ["docs.js", "docs.css"],
};

/** A value in a path or query: escaped, half escaped or not at all; without characters that HTTP cannot carry. */
const segment = fc.oneof(
  fc.string({ unit: "binary" }).map(escaped),
  fc.string({ unit: "grapheme" }).map(escaped),
  fc.string().map(safe),
  fc.constantFrom(
    "",
    "%",
    "%00",
    "%ff",
    "%C0%AE",
    "..",
    "%2e%2e%2f",
    "deletestatus",
    "__proto__",
    "null",
    "a%2Fb",
    "a".repeat(2000),
  ),
);

function queryOf(parameters: readonly Parameter[]): fc.Arbitrary<string> {
  const known = parameters.map(({ name, schema }, place) => {
    const values = valueFor(schema).map((value) => (Array.isArray(value) ? value : [value]));
    const texts = values.map((all) => all.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))));
    const odd = segment.map((value) => [value]);
    const pair = mostly(
      texts.map((all) => all.map(escaped)),
      odd,
    ).map((all) => all.map((value) => `${name}=${value}`));
    return present(place, pair, []);
  });
  const others = fc.array(
    fc.tuple(segment, segment).map(([name, value]) => `${name}=${value}`),
    { maxLength: 2 },
  );
  return fc
    .tuple(fc.tuple(...known), rarely(others))
    .map(([pairs, odd]) => [...pairs.flat(), ...(odd ?? [])].join("&"))
    .map((query) => (query === "" ? "" : `?${query}`));
}

function bodyOf(type: string, schema: Schema): fc.Arbitrary<{ type: string | undefined; text: string }> {
  // Where the document has an array, one object is taken too.
  const single = valueFor(schema).map((value) => (Array.isArray(value) ? (value[0] ?? value) : value));
  const value = fc.oneof(
    { weight: 5, arbitrary: valueFor(schema) },
    { weight: 1, arbitrary: single },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const good = type.includes("ndjson")
    ? fc.array(value, { maxLength: 4 }).map((values) =>
        values
          .flat()
          .map((value) => JSON.stringify(value))
          .join("\n"),
      )
    : type.includes("json")
      ? value.map((value) => JSON.stringify(value))
      : line;
  return fc.record({
    type: mostly(fc.constant(type), fc.option(headerText, { nil: undefined })),
    text: fc.oneof(
      { weight: 8, arbitrary: good },
      { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
      { weight: 1, arbitrary: fc.tuple(good, fc.nat(50)).map(([text, cut]) => text.slice(0, -cut)) },
    ),
  });
}

const line = fc
  .tuple(
    fc.constantFrom("segment", "stream", "experience", "segsize", "other"),
    fc.constantFrom(",dimension_id=a", ",dimension_id=b\\ c", ",dimension_id=", "", ",x=y"),
    fc.constantFrom(" value=1", " value=2i", " value=NaN", " v=1", ' value="x"', ""),
    fc.constantFrom("", " 1700000000000000000", " -1", " x", " 99999999999999999999"),
  )
  .map((parts) => parts.join(""));

/** A value of the schema, or nearly. */
function valueFor(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return fc.oneof(...choices.map(valueFor));
  const types = [schema.type ?? "any"].flat();
  return fc.oneof(...types.map((type) => valueForType(type, schema)));
}

function valueForType(type: string, schema: Schema): fc.Arbitrary<unknown> {
  if (type === "string") return schema.pattern === undefined ? text : mostly(matching(schema.pattern), text);
  if (type === "integer") return mostly(fc.constantFrom(Date.now(), 1_700_000_000_000, 10), fc.integer());
  if (type === "number") return mostly(fc.integer(), fc.double());
  if (type === "boolean") return fc.boolean();
  if (type === "null") return fc.constant(null);
  if (type === "array") return fc.array(valueFor(schema.items ?? {}), { maxLength: 3 });
  if (type !== "object") return fc.jsonValue({ maxDepth: 2 });
  const properties = Object.entries(schema.properties ?? {});
  const required = (name: string) => schema.required?.includes(name) === true;
  const fields = properties.map(([name, property], i) =>
    present(
      required(name) ? 0 : i,
      valueFor(property).map((value) => ({ [name]: value })),
      {},
    ),
  );
  const record = fc.tuple(...fields).map((parts) => Object.assign({}, ...parts) as object);
  const identified = fc.constantFrom({ email: "ann@example.com" }, { _uid: "a" }, { user_id: 5 });
  return fc
    .tuple(record, rarely(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })), identified)
    .map(([known, odd, identity]) => ({ ...(properties.length === 1 ? identity : {}), ...known, ...odd }));
}

const known = [
  "a",
  "b",
  "web",
  "2h",
  "1d",
  "now",
  "now-1d",
  "now-4w",
  "2026-01-01",
  "1700000000000",
  "all_segments",
  "{a!=''}",
];

const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...known) },
  { weight: 1, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "__proto__", "2024-02-30", "1.5h", "99999999999h", "a\\", "\ud800", "null"),
  },
);

const patterns = new Map<string, fc.Arbitrary<string>>();

/** Texts of a pattern, cached as generating them takes long. Unknown classes of characters are letters. */
function matching(pattern: string): fc.Arbitrary<string> {
  const kept = patterns.get(pattern);
  if (kept !== undefined) return kept;
  const made = pattern.includes("\\p{") ? text : fc.stringMatching(new RegExp(pattern), { maxLength: 40 });
  patterns.set(pattern, made);
  return made;
}

const headerText = fc.oneof(
  fc.string().map((value) => value.replaceAll(/[^\x20-\x7e]/g, "")),
  fc.constantFrom(
    "",
    "application/json",
    "text/plain",
    "Bearer",
    "Bearer x",
    "*",
    'W/"x"',
    "application/json; charset=utf-7",
  ),
);

function mostly<T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

/** The first three of a list are nearly always present, the others seldom, as some exclude each other. */
function present<T, U>(place: number, given: fc.Arbitrary<T>, left: U): fc.Arbitrary<T | U> {
  const weight = place < 3 ? 20 : 1;
  return fc.oneof({ weight, arbitrary: given }, { weight: place < 3 ? 1 : 6, arbitrary: fc.constant(left) });
}

function rarely<T>(odd: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 14, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd });
}

function escaped(value: string): string {
  return encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "\ufffd"));
}

/** The value without characters that a request line cannot contain. */
function safe(value: string): string {
  return value.replaceAll(/[^\x21-\x7e]|#/g, "");
}
