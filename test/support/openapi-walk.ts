import type { TestService } from "./service.js";

/** A JSON Schema, or another part of an OpenAPI document. */
export type Part = Readonly<Record<string, unknown>>;

export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation & { readonly security: unknown } }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Part>>;
    readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, Content>> }>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Part;
  readonly example?: string;
  readonly deprecated?: boolean;
}

export interface Content {
  readonly schema: Part;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The document of a service, and the same without references. */
export async function documentOf(service: TestService): Promise<{ document: OpenApi; plain: OpenApi }> {
  const document = (await (await service.fetch("/openapi.json", { key: null })).json()) as OpenApi;
  return { document, plain: dereferenced(document) as OpenApi };
}

/** Every operation of a document. */
export function operationsOf({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
}

/** The examples of a body by name. */
export function examplesOf({ example, examples = { example: { value: example } } }: Content): [string, unknown][] {
  return Object.entries(examples).map(([name, { value }]) => [name, value]);
}

export interface Place {
  /** Its place, as keys from the top. */
  readonly at: string;
  readonly schema: Part;
}

/** Every schema of an OpenAPI document, the parts of schemas too. References are not followed. */
export function schemasOf(document: object): Place[] {
  const { components } = document as { components: { schemas: Record<string, Part> } };
  const named = Object.entries(components.schemas).map(([name, schema]) => ({ at: `components.${name}`, schema }));
  return [...named, ...partsWithSchema(document, "")].flatMap(within);
}

/** The same document with the content of each reference in its place. */
function dereferenced(document: object): object {
  const resolve = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(resolve);
    if (typeof part !== "object" || part === null) return part;
    const { $ref, ...own } = part as Part;
    if (typeof $ref !== "string") return mapValues(part as Part, resolve);
    return { ...(resolve(targetOf(document, $ref)) as Part), ...mapValues(own, resolve) };
  };
  return resolve(document) as object;
}

/** The part of a reference such as `#/components/schemas/Error`; undefined if there is no such part. */
export function targetOf(document: object, reference: string): unknown {
  const keys = reference.split("/").slice(1);
  return keys.reduce<unknown>((part, key) => (part as Part | undefined)?.[key], document);
}

/** The values of `schema` of parameters, headers, request bodies and responses. */
function partsWithSchema(part: unknown, at: string): Place[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => {
    const place = at === "" ? key : `${at}.${key}`;
    if (place === "components.schemas" || key === "examples") return [];
    return key === "schema" ? [{ at: place, schema: value as Part }] : partsWithSchema(value, place);
  });
}

function within({ at, schema }: Place): Place[] {
  const { properties = {}, oneOf = [], anyOf = [], items, additionalProperties } = schema;
  const inside: [string, unknown][] = [
    ...Object.entries(properties as Part),
    ...Object.entries(oneOf as Part[]),
    ...Object.entries(anyOf as Part[]),
    ["items", items],
    ["additionalProperties", additionalProperties],
  ];
  const parts = inside.filter((entry): entry is [string, Part] => typeof entry[1] === "object");
  return [{ at, schema }, ...parts.flatMap(([key, part]) => within({ at: `${at}.${key}`, schema: part }))];
}

function mapValues(part: Part, change: (value: unknown) => unknown): Part {
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, change(value)]));
}
