import { type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { ResponseSpec, SchemaIssue } from "./route.js";

/** Schema of one of these strings. */
export function oneOf<T extends string>(values: readonly T[], options: Readonly<Record<string, unknown>> = {}) {
  return Type.Unsafe<T>({ type: "string", enum: values, ...options });
}

/** Schema of a value that may be null. */
export function orNull<S extends TSchema>(schema: S) {
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, "null"] });
}

/** Schema of one issue. */
export const ValidationIssue = Type.Object(
  {
    code: Type.String({ description: "Stable error code for programs." }),
    path: Type.String({
      description: "Position, or name of the field or parameter. Never contains the input.",
    }),
    message: Type.String({ description: "Explanation for people; may change." }),
  },
  { title: "Problem", additionalProperties: false },
);

const errorProperties = {
  status: Type.Integer({ minimum: 400, maximum: 599, description: "Repeats the HTTP status." }),
  message: Type.String(),
  data: Type.Unsafe<null>({ type: ["string", "null"], description: "Always null." }),
  errors: Type.Array(ValidationIssue, { minItems: 1 }),
};

/** The body of every response that is not a success. */
export const ErrorBody = Type.Object(errorProperties, { title: "ErrorAnswer" });

/** The error envelope with this name and a `data` that is not null. */
export function errorWith<Data extends TSchema>(title: string, data: Data) {
  return Type.Object({ ...errorProperties, data }, { title });
}

/** The success envelope with this name around `data`, with `meta` if given. */
export function success<Data extends TSchema, Meta extends TProperties = Record<never, never>>(
  title: string,
  data: Data,
  meta?: Meta,
) {
  const envelope = {
    status: Type.Integer({ const: 200, description: "Repeats the HTTP status." }),
    message: Type.String(),
    data,
  };
  return json(Type.Object({ ...envelope, ...(meta as Meta) }, { title }));
}

/** A success response in one of these media types. */
export function done(content: ResponseSpec["content"]): ResponseSpec {
  return { description: "Done.", content };
}

/** A response in JSON. */
export function json<S extends TSchema>(schema: S, description = "Done."): ResponseSpec<S> {
  return { description, content: { "application/json": schema } };
}

/** A response without a body. */
export function empty(description = "Done."): ResponseSpec {
  return { description, content: {} };
}

/** The error envelope, for errors that only some routes return. */
export const errorEnvelope: ResponseSpec = { ...json(ErrorBody), isError: true };

/** Default and maximum number of items per page. */
export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

/** Query parameters of a list. */
export function pageQuery({ usual, most }: PageSizes) {
  const issue: SchemaIssue = { code: "invalid_limit", message: `limit must be a whole number from 1 to ${most}` };
  const description = "Maximum items per page.";
  return {
    after: Type.Optional(Type.String({ description: "`meta.next` of the previous page." })),
    limit: Type.Integer({ minimum: 1, maximum: most, default: usual, description, issue }),
  };
}

export const listQuery = pageQuery({ usual: 100, most: 1_000 });

/** `meta` of a list. */
export const PageMeta = Type.Object(
  {
    next: orNull(Type.String({ description: "`after` of the next page; null on the last page." })),
  },
  { title: "PageMeta" },
);

/** A page of a list: at most `limit` items after the id `after`. */
export interface Page {
  readonly after?: string;
  readonly limit: number;
}

/** Returns the items of a page and, when more follow, the `after` of the next page. */
export async function fetchPage<T extends { readonly id: string }>(
  { after, limit }: Page,
  fetch: (after: string | undefined, limit: number) => Promise<T[]>,
): Promise<{ items: T[]; meta: { next: string | null } }> {
  const found = await fetch(after, limit + 1);
  const items = found.slice(0, limit);
  return { items, meta: { next: found.length > limit ? (items.at(-1)?.id ?? null) : null } };
}

const format = "RFC 3339, UTC, with milliseconds.";

/** Schema of an instant in a response. */
export function Time(description: string) {
  return Type.String({ description: `${description} ${format}` });
}

/** Schema of an instant or null in a response. */
export function TimeOrNull(description: string) {
  return orNull(Time(description));
}
