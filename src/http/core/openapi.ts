import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import { type ErrorKind, ServiceError } from "../../errors.js";
import { errorResponse, statusOf } from "../edge/errors.js";
import { ErrorBody } from "./responses.js";
import { type Body, type ResponseSpec, type Route, type RouteDocs, type Schemas, tags } from "./route.js";

/** A call that the service makes to a system in its settings. */
export interface WebhookDocs {
  readonly docs: RouteDocs;
  readonly body: Body;
  /** Description of the Bearer token. */
  readonly token: string;
  /** Description of a 2xx answer, and of any other one. */
  readonly taken: string;
  readonly notTaken: string;
}

/** Returns the OpenAPI 3.1 document of these routes and webhooks. `JSON.stringify` omits its undefined values. */
export function openApiDocument(routes: readonly Route[], webhooks: readonly WebhookDocs[], version: string): object {
  const components = new Components();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationObject(route, components);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "entity-metrics",
      version,
      description:
        "Profiles with segment memberships, their permanent deletion with a receipt, and time series about them.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    tags: tags.map((name) => ({ name })),
    paths,
    webhooks: Object.fromEntries(
      webhooks.map((webhook) => [webhook.docs.id, { post: webhookObject(webhook, components) }]),
    ),
    components: {
      securitySchemes: {
        key: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description:
            "`em_<id>_<secret>`, alone, after `Bearer` or `Token`, or as user name or password of `Basic`. A key can have bounds: a request outside one is 403 `forbidden`, above its rate 429 `too_many_requests`, after its end 401 `unauthenticated`. `path` of the error is the name of the bound (`Authorization` for 401).",
        },
        ...Object.fromEntries(
          webhooks.map(({ docs, token }) => [docs.id, { type: "http", scheme: "bearer", description: token }]),
        ),
      },
      schemas: components.schemas,
      responses: Object.fromEntries(
        [...errorStatuses].map((status) => [responseName(status), errorObject(status, components)]),
      ),
    },
  };
}

function webhookObject({ docs, body, taken, notTaken }: WebhookDocs, components: Components): object {
  const { id, tag, summary, description } = docs;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    // Otherwise openapi-generator generates a client method, whose code does not compile.
    "x-internal": true,
    security: [{ [id]: [] }],
    requestBody: {
      required: true,
      content: bodyContent({ "application/json": body }, (schema) => components.add(schema)),
    },
    responses: { "2XX": { description: taken }, default: { description: notTaken } },
  };
}

function operationObject(route: Route, components: Components): object {
  const { scopes, docs, params = {}, query = {}, headers = {}, responses } = route;
  const keyless = scopes === "keyless";
  const scopeWords = keyless
    ? []
    : [`Scope: ${scopes.join(" or ")}${route.alsoScope === undefined ? "" : `, and ${route.alsoScope}`}.`];
  const description = [docs.description ?? [], scopeWords].flat().join("\n\n");
  const bodies = route.body === undefined ? route.stream : { "application/json": route.body };
  const errors = keyless ? [400, 404, 405] : forCallers(route, bodies !== undefined);
  const parametersIn = (place: string, schemas: Schemas) =>
    Object.entries(schemas).map(([name, schema]) => {
      const required = place === "path" || docs.requiredQuery?.includes(name) === true;
      return parameterObject(name, place, required, schema, components);
    });
  return {
    operationId: docs.id,
    tags: [docs.tag],
    summary: docs.summary,
    description: description || undefined,
    security: keyless ? [] : undefined,
    parameters: [...parametersIn("path", params), ...parametersIn("header", headers), ...parametersIn("query", query)],
    requestBody: bodies && {
      required: route.body?.optional !== true,
      content: bodyContent(bodies, (schema) => components.add(withNulls(schema))),
    },
    responses: {
      ...Object.fromEntries(errors.map((status) => [status, errorReference(status)])),
      ...Object.fromEntries(
        Object.entries(responses).map(([status, spec]) => [
          status,
          spec.isError ? errorReference(Number(status)) : responseObject(spec, components),
        ]),
      ),
    },
  };
}

/**
 * Allows null for optional fields, also of the elements of a list; null counts as absent. A field has the first of its
 * types, because generated clients reject a choice. The title belongs to the schema without null.
 */
function withNulls(schema: TSchema): TSchema {
  if (schema.type === "array") return { ...schema, items: withNulls(schema.items) };
  const { required = [], properties } = schema;
  if (properties === undefined) return schema;
  const fields = Object.entries<TSchema>(properties).map(([name, field]) => {
    if (field.type === undefined) return [name, field];
    const [type] = [field.type].flat();
    if (required.includes(name)) return [name, { ...field, type }];
    const { title: _, enum: values, ...rest } = field;
    return [name, { ...rest, type: [type, "null"], enum: values && [...values, null] }];
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** Statuses of errors that any route with a key can return. */
function forCallers({ protocolErrors }: Route, withBody: boolean): number[] {
  const unavailable = protocolErrors?.unavailable === undefined ? [503] : [];
  return [400, 401, 403, 404, 405, 414, 429, 431, 500, ...unavailable, ...(withBody ? [408, 413, 415, 507] : [])];
}

function parameterObject(
  name: string,
  place: string,
  required: boolean,
  { description, deprecated, examples, ...schema }: TSchema,
  components: Components,
): object {
  return {
    name,
    in: place,
    required,
    description,
    deprecated,
    example: examples?.[0],
    schema: components.add(schema),
  };
}

function bodyContent(bodies: Readonly<Record<string, Body>>, shown: (schema: TSchema) => Schema): object {
  return Object.fromEntries(
    Object.entries(bodies).map(([type, { schema, examples }]) => [
      type,
      { schema: shown(schema), ...examplesOf(examples) },
    ]),
  );
}

/** A single example has no name: Swagger UI looks for the name selected for another media type. */
function examplesOf(examples: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(examples);
  if (entries.length === 1) return { example: entries[0]?.[1] };
  return { examples: Object.fromEntries(entries.map(([name, value]) => [name, { value }])) };
}

function responseObject({ description, content }: ResponseSpec, components: Components): object {
  const schemas = Object.entries(content).map(([type, schema]) => [type, { schema: components.add(schema) }]);
  return { description, content: schemas.length === 0 ? undefined : Object.fromEntries(schemas) };
}

function errorReference(status: number): object {
  return { $ref: `#/components/responses/${responseName(status)}` };
}

const errorStatuses: ReadonlySet<number> = new Set(Object.values(statusOf));

function responseName(status: number): string {
  return `Error${status}`;
}

const retryAfter = {
  description: "Seconds to wait before the next try.",
  schema: { type: "integer", minimum: 0, format: "int64" },
};

function errorObject(status: number, components: Components): object {
  const [kind = "internal"] = (Object.keys(statusOf) as ErrorKind[]).filter((one) => statusOf[one] === status);
  const words = kind.replaceAll("-", " ");
  const message = `${words[0]?.toUpperCase()}${words.slice(1)}.`;
  return {
    description: message,
    headers: status === 429 || status === 503 ? { "Retry-After": retryAfter } : undefined,
    content: {
      "application/json": {
        schema: components.add(ErrorBody),
        example: errorResponse(new ServiceError(kind, message)).body,
      },
    },
  };
}

/** A JSON Schema or a part of one. */
type Schema = Readonly<Record<string, unknown>>;

/** Named schemas of a document. A schema with a title is stored once as a component and referenced elsewhere. */
class Components {
  readonly schemas: Record<string, Schema> = {};

  /**
   * Returns the schema as shown in the document: a reference when it has a title. Omits patterns with `\p{…}`, which
   * the regular expressions of most languages do not support; the service still checks them.
   */
  add(schema: object): Schema {
    const { title, pattern, issue: _, ...rest } = schema as Schema;
    const shown: Record<string, unknown> = Object.fromEntries(
      Object.entries(rest).map(([keyword, value]) => [keyword, this.#addIn(keyword, value)]),
    );
    const format = formatOf(shown);
    if (format !== undefined) shown.format = format;
    if (typeof pattern === "string" && !pattern.includes("\\p{")) shown.pattern = pattern;
    return typeof title === "string" ? this.#refer(title, shown) : shown;
  }

  #addIn(keyword: string, value: unknown): unknown {
    if (keyword === "properties") {
      return Object.fromEntries(
        Object.entries(value as Schema).map(([name, part]) => [name, this.add(part as Schema)]),
      );
    }
    if (keyword === "oneOf" || keyword === "anyOf") return (value as Schema[]).map((part) => this.add(part));
    if (keyword === "items") return this.add(value as Schema);
    if (keyword === "additionalProperties" && typeof value === "object") return this.add(value as Schema);
    return value;
  }

  /** Returns a reference, with the description of this use where it differs. */
  #refer(title: string, schema: Schema): Schema {
    this.schemas[title] ??= schema;
    const { description, deprecated, ...content } = schema;
    const { description: first, deprecated: _, ...known } = this.schemas[title];
    if (!isDeepStrictEqual(known, content)) throw new Error(`Two schemas have the title ${title}`);
    return {
      $ref: `#/components/schemas/${title}`,
      description: description === first ? undefined : description,
      deprecated,
    };
  }
}

/** Returns the format of a number. Generated clients assume 32 bits, too few for Unix ms and sums. */
function formatOf({ type, maximum, const: value }: Schema): string | undefined {
  const types = [type].flat();
  if (types.includes("number")) return "double";
  return types.includes("integer") && maximum === undefined && value === undefined ? "int64" : undefined;
}

/**
 * Names in the examples of the document. They are recognizable as examples, because "Try it out" sends them to real
 * services.
 */
export const exampleNames = {
  stream: "example",
  table: "user",
  field: "email",
  value: "ann@example.com",
  defaultValue: "example-ann",
  audience: "example-readers",
  goal: "example-buyers",
  /** A segment that no experience uses, so that it can be deleted. */
  spare: "example-spare",
  experience: "example-offer",
  group: "example-offers",
  mark: "example-release",
} as const;
