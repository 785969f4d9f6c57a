import fc from "fast-check";

/** A request as it goes out. */
export interface RandomRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
}

export interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>;
}

interface Schema {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Record<string, Schema>;
}

/** Requests of every operation of the document: good ones, nearly good ones and rubbish. */
export function randomRequests(document: OpenApi, keys: readonly string[]): fc.Arbitrary<RandomRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestOf(method.toUpperCase(), path, operation, keys)),
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
          : fc.oneof(...contents.map(([type, { schema }]) => bodyOf(type, schema))),
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
    return mostly(
      fc.constantFrom(
        "user",
        "email",
        "_uid",
        "user_id",
        "account",
        "ann@example.com",
        "a",
        "0123456789abcdef0123-1700000000",
        "web",
      ),
      segment,
    );
  });
  return fc.tuple(...parts).map((segments) => `/${segments.slice(1).join("/")}`);
}

/** A value in a path or query: escaped, half escaped or not at all; only what HTTP has no place for is left out. */
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
  const known = parameters.map(({ name, schema }) =>
    fc
      .option(
        mostly(
          valueFor(schema).map((value) => escaped(typeof value === "object" ? JSON.stringify(value) : String(value))),
          segment,
        ),
      )
      .map((value) => (value === null ? [] : [`${name}=${value}`])),
  );
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
  const value = fc.oneof({ weight: 6, arbitrary: valueFor(schema) }, { weight: 1, arbitrary: fc.jsonValue() });
  const good = type.includes("ndjson")
    ? fc.array(value, { maxLength: 4 }).map((values) => values.map((value) => JSON.stringify(value)).join("\n"))
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
  if (type === "string") return text;
  if (type === "integer")
    return fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, 1000, Date.now(), 1_700_000_000, 2 ** 53));
  if (type === "number") return fc.oneof(fc.double(), fc.integer());
  if (type === "boolean") return fc.boolean();
  if (type === "null") return fc.constant(null);
  if (type === "array") return fc.array(valueFor(schema.items ?? {}), { maxLength: 3 });
  if (type !== "object") return fc.jsonValue({ maxDepth: 2 });
  const properties = Object.entries(schema.properties ?? {});
  const record = fc.record(Object.fromEntries(properties.map(([name, property]) => [name, valueFor(property)])), {
    requiredKeys: [...(schema.required ?? [])].filter((name) => properties.some(([known]) => known === name)),
  });
  const identified = fc.constantFrom({ email: "ann@example.com" }, { _uid: "a" }, { user_id: 5 });
  return fc
    .tuple(record, rarely(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })), identified)
    .map(([known, odd, identity]) => ({ ...(properties.length === 1 ? identity : {}), ...known, ...odd }));
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "a",
    "2h",
    "1d",
    "now",
    "now-1d",
    "now-4w",
    "2024-01-01",
    "2024-02-30",
    "1700000000000",
    "all_segments",
    "__proto__",
    "web",
  ),
);

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

function rarely<T>(odd: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 14, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd });
}

function escaped(value: string): string {
  return encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "\ufffd"));
}

/** As it is, but for what a request line cannot hold. */
function safe(value: string): string {
  return value.replaceAll(/[^\x21-\x7e]|#/g, "");
}
