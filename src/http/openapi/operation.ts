import type { Method } from "../api-router.js";

/** What the document says of a route beyond what the route says itself. */
export interface Operation {
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Parameters of the path, by name. */
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** Body by media type. */
  readonly body?: Readonly<Record<string, object>>;
  /** Body of the answer by media type; none is 204. */
  readonly answer?: Readonly<Record<string, object>>;
  /** Answers that are neither the success nor an `Error`, by status; without a schema they have no body. */
  readonly others?: Readonly<Record<number, { readonly description: string; readonly schema?: object }>>;
  /** Errors besides those that every route can give. */
  readonly errors?: readonly number[];
}

export type Tag = "metrics" | "entities" | "deletion" | "collecting" | "catalogue" | "operations";

export interface Parameter {
  readonly schema: object;
  readonly description?: string;
  readonly required?: boolean;
}

/** Operations by method and route pattern. */
export type Operations = Readonly<Partial<Record<`${Method} ${string}`, Operation>>>;

/** An answer, or a body, in JSON. */
export function json(schema: object): Readonly<Record<string, object>> {
  return { "application/json": schema };
}

/** Parameters whose schemas carry their own descriptions. */
export function described(schemas: Readonly<Record<string, object>>): Readonly<Record<string, Parameter>> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, { schema }]));
}
