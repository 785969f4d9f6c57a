import {
  type Content,
  examplesOf,
  type OpenApi,
  type Operation,
  operationsOf,
  type Part,
} from "../support/openapi-walk.js";

/** Makes a text of at most this number of bytes. */
export type TextOf = (bytes: number) => string;

/** A request with a long text in one place; the other places have the values of the examples. */
export interface LongRequest {
  readonly place: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Bytes of a text in a JSON body, in a line (of at most 64 KiB), and in the head (of at most 16 KiB). */
const BODY_BYTES = 200_000;
const LINE_BYTES = 60_000;
const HEAD_BYTES = 7_000;

/** Returns a request for each place for a text in each operation of the document, without references. */
export function longRequests(document: OpenApi, text: TextOf): LongRequest[] {
  return operationsOf(document).flatMap(({ method, path, operation }) => [
    ...inHead(method, path, operation, text),
    ...inBody(method, path, operation, text),
  ]);
}

function inHead(method: string, path: string, { parameters }: Operation, text: TextOf): LongRequest[] {
  const head = text(HEAD_BYTES);
  const escaped = encodeURIComponent(text(HEAD_BYTES / 3));
  return parameters.map(({ name, in: where }) => {
    const known = plainPath(where === "path" ? path.replace(`{${name}}`, escaped) : path);
    return {
      place: `${method} ${path}, ${name}`,
      method,
      path: where === "query" ? `${known}?${encodeURIComponent(name)}=${escaped}` : known,
      headers: where === "header" ? { [name]: Buffer.from(head).toString("latin1").trim() } : {},
    };
  });
}

function inBody(method: string, path: string, { requestBody }: Operation, text: TextOf): LongRequest[] {
  const { content = {} } = requestBody ?? {};
  return Object.entries(content).flatMap(([type, given]) => {
    const places = type.endsWith("/json")
      ? inJson(given, text(BODY_BYTES))
      : type.includes("json")
        ? inJson(content["application/json"] ?? given, text(LINE_BYTES)).map(([at, body]) => [at, lines(body)] as const)
        : pointsWith(text(LINE_BYTES)).map((line, index) => [`line ${index}`, line] as const);
    return [...places, ["the whole", text(BODY_BYTES)] as const].map(([at, body]) => ({
      place: `${method} ${path}, ${at} of ${type}`,
      method,
      path: plainPath(path),
      headers: { "content-type": type },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }));
  });
}

/** Path with values that lead somewhere. */
function plainPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? "a");
}

const samples: Readonly<Record<string, string>> = {
  table: "user",
  field: "user_id",
  fieldname: "user_id",
  stream: "web",
  file: "docs.js",
};

function inJson(content: Content, text: string) {
  return examplesOf(content).flatMap(([, value]) => valuesWith(content.schema, value, text));
}

function lines(body: unknown): string {
  return [body]
    .flat()
    .map((item) => JSON.stringify(item))
    .join("\n");
}

function pointsWith(text: string): string[] {
  return [
    `${text},dimension_id=a value=1`,
    `stream,dimension_id=${text} value=1`,
    `stream,dimension_id=a,${text}=a value=1`,
    `stream,dimension_id=a ${text}=1`,
    `stream,dimension_id=a value=${text}`,
    `stream,dimension_id=a value="${text}"`,
    `stream,dimension_id=a value=1 ${text}`,
  ];
}

/** Values of a schema with the text in one place each: as a value, as a name, or instead of an object. */
function valuesWith(schema: Part, example: unknown, text: string, at = "body"): [at: string, value: unknown][] {
  const {
    type,
    items,
    properties = {},
    oneOf = [],
    anyOf = [],
  } = schema as {
    readonly type?: string | readonly string[];
    readonly items?: Part;
    readonly properties?: Readonly<Record<string, Part>>;
    readonly oneOf?: readonly Part[];
    readonly anyOf?: readonly Part[];
  };
  const types = [type].flat();
  const ofChoices = [...oneOf, ...anyOf].flatMap((one) => valuesWith(one, example, text, at));
  if (types.includes("array")) {
    const [first] = Array.isArray(example) ? example : [];
    return [
      ...ofChoices,
      ...valuesWith(items ?? {}, first, text, `${at}[]`).map(([on, one]) => [on, [one]] as [string, unknown]),
    ];
  }
  if (!types.includes("object")) return [...ofChoices, [at, text]];
  const others = (typeof example === "object" && example !== null ? example : {}) as Part;
  const ofProperties = Object.entries({ ...unlisted(others), ...shapeOf(others).properties, ...properties }).flatMap(
    ([name, property]) =>
      valuesWith(property, others[name], text, `${at}.${name}`).map(([on, one]): [string, unknown] => [
        on,
        { ...others, [name]: one },
      ]),
  );
  return [
    ...ofChoices,
    ...ofProperties,
    [`a name of ${at}`, { ...others, [text]: 1 }],
    [`another value of ${at}`, { ...others, other: text }],
  ];
}

/** Returns members of a call of Segment's API that the document does not list. */
function unlisted(example: Part): Readonly<Record<string, Part>> {
  if (!("anonymousId" in example || "userId" in example)) return {};
  const names = ["userId", "messageId", "timestamp", "originalTimestamp", "sentAt", "writeKey"];
  const traits = { type: "object", properties: { email: {} } };
  return {
    ...Object.fromEntries(names.map((name) => [name, {}])),
    context: { type: "object", properties: { traits } },
  };
}

/** Returns a schema of an example, as documented ones may allow any names. */
function shapeOf(example: unknown): Part & { readonly properties?: Readonly<Record<string, Part>> } {
  if (Array.isArray(example)) return { type: "array", items: shapeOf(example[0]) };
  if (typeof example !== "object" || example === null) return {};
  const shapes = Object.entries(example).map(([name, value]) => [name, shapeOf(value)] as const);
  return { type: "object", properties: Object.fromEntries(shapes) };
}
