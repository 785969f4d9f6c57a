import type { Method } from "../api-router.js";

/** What the document says of a route beyond what the route says itself. */
export interface Operation {
  /** Name of the operation, and of the function that calls it in generated clients. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Parameters of the path, by name. */
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** Request body by media type. */
  readonly body?: Readonly<Record<string, Body>>;
  /** Schema of the response body by media type; none is 204. */
  readonly answer?: Readonly<Record<string, object>>;
  /** Responses that are neither the success nor an `Error`, by status; without a schema they have no body. */
  readonly others?: Readonly<Record<number, { readonly description: string; readonly schema?: object }>>;
  /** Errors besides those that every route can give. */
  readonly errors?: readonly number[];
}

export type Tag = "metrics" | "entities" | "catalogue" | "collecting" | "deletion" | "operations";

export interface Parameter {
  readonly schema: object;
  readonly description?: string;
  readonly required?: boolean;
  /** A value that succeeds; "Try it out" proposes it. */
  readonly example?: string;
  readonly deprecated?: boolean;
}

export interface Body {
  readonly schema: object;
  /** Bodies by name. Each succeeds as it stands once the first example of `POST /collect/json/{stream}` was sent. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Operations by method and route pattern. */
export type Operations = Readonly<Partial<Record<`${Method} ${string}`, Operation>>>;

/** A response in JSON. */
export function json(schema: object): Readonly<Record<string, object>> {
  return { "application/json": schema };
}

/** Parameters whose schemas carry their own descriptions. */
export function described(schemas: Readonly<Record<string, object>>): Readonly<Record<string, Parameter>> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, parameterOf(schema)]));
}

interface Described {
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
}

/** A parameter from the schema of a field: a query cannot say null, and a value in it is a text before it is a number. */
function parameterOf(field: Described): Parameter {
  const { description, deprecated, ...schema } = withoutNull(field);
  return {
    schema: typeof schema.type === "string" ? schema : { type: "string" },
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated }),
  };
}

/** The same schema for a value that is never null. */
export function withoutNull<T extends Described>(schema: T): T {
  const { type, enum: values } = schema;
  const types = [type ?? []].flat().filter((name) => name !== "null");
  return {
    ...schema,
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }),
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
  };
}
