import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type Koa from "koa";
import type { Deadline } from "../../async/time-limit.js";
import type { ErrorKind } from "../../errors.js";
import type { Scope } from "../../keys/api-key.js";
import type { Reservation } from "../../memory-budget.js";

/** What a request has once it is authenticated. */
export interface ApiState {
  /** Id of the API key (or `admin` for the one of the configuration). */
  keyId: string;
  /** What the key was called when it was made. */
  keyName: string;
  scopes: ReadonlySet<Scope>;
  requestId: string;
  /** The route that serves it; absent when there is none. */
  route?: Route;
  /** The one time limit of the request, whichever stores it needs: then it is answered 503. */
  deadline: Deadline;
  /** The memory that the request has reserved, once it has reserved any. */
  memory?: Reservation;
}

export type ApiContext = Koa.ParameterizedContext<
  ApiState,
  Koa.DefaultContextExtends & { params: Record<string, string> }
>;

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** In the order in which pages list them: reading comes before writing. */
export const tags = ["metrics", "entities", "catalogue", "operations", "collecting", "deletion"] as const;

/**
 * A route is this one object. The router, the check of its key, query and body, the types of its handler and the OpenAPI
 * document are made from it.
 */
export interface Route {
  readonly method: Method;
  /** Segments and `:parameters`; also what logs and `/metrics` name. */
  readonly path: string;
  /** Any one of these scopes lets a request in; `keyless` needs no key. */
  readonly scopes: readonly Scope[] | "keyless";
  /** A scope that is needed besides. */
  readonly alsoScope?: Scope;
  readonly docs: RouteDocs;
  /** Parameters of the path. */
  readonly params?: Schemas;
  /** Query parameters: absent, or in the type of their schema. A boolean is `true` or `false`. */
  readonly query?: Schemas;
  /**
   * Whether unknown query parameters are refused, which is the default, or ignored, as always on a GET without query parameters.
   * `unchecked` is a query for the script of a page, which may repeat a parameter.
   */
  readonly unknownQuery?: "refuse" | "ignore" | "unchecked";
  /** Headers that the handler reads. */
  readonly headers?: Schemas;
  /** A small body of JSON, which is read and checked before the handler is called. */
  readonly body?: Body;
  /** A body that the handler reads itself, by media type. */
  readonly stream?: Readonly<Record<string, Body>>;
  /** By status. The success is 200 or 204; errors that every route can give are not named. */
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** The name that the protocol of the route has for a kind of error, which its errors carry as `code`. Its path has no parameters. */
  readonly errorCode?: (kind: ErrorKind) => string;
  /** Answers a request: with what it returns, in the success envelope, or else by what it sets on the context. */
  handler(request: Asked): Promise<Reply | undefined> | Reply | undefined;
}

/**
 * Schemas by name. A value that breaks its schema is refused in the words of the schema's `issue`; a schema without one
 * describes, and the handler checks.
 */
export type Schemas = Readonly<Record<string, TSchema>>;

/** How a value that breaks a schema is refused: `invalid`, with the name of the parameter as its path. */
export interface SchemaIssue {
  readonly code: string;
  readonly message: string;
}

export interface RouteDocs {
  /** Name of the operation, and of the function that calls it in generated clients. */
  readonly id: string;
  readonly tag: (typeof tags)[number];
  readonly summary: string;
  readonly description?: string;
  /** Query parameters that callers should always give. */
  readonly requiredQuery?: readonly string[];
}

export interface Body<S extends TSchema = TSchema> {
  readonly schema: S;
  /** Whether it may be absent: then it counts as an object without fields. */
  readonly optional?: boolean;
  /**
   * Bodies by name, for the hour that begins at a time (Unix ms). Each succeeds as it stands once the first example of
   * `POST /collect/json/{stream}` was sent.
   */
  examples(hour: number): Readonly<Record<string, unknown>>;
}

export interface ResponseSpec<S extends TSchema = TSchema> {
  readonly description: string;
  /** Schemas of its body by media type; empty when it has none. */
  readonly content: Readonly<Record<string, S>>;
  /** Whether it is the error envelope. */
  readonly isError?: boolean;
}

/** A request as a handler is handed it: what its route has schemas for is checked. */
export interface Asked<
  Params = Readonly<Record<string, string>>,
  Query = Readonly<Record<string, unknown>>,
  Json = unknown,
> {
  readonly ctx: ApiContext;
  readonly params: Params;
  readonly query: Query;
  readonly body: Json;
}

/** What the success envelope carries. */
export interface Reply {
  readonly data: unknown;
  readonly meta?: unknown;
  /** `success` when it is absent. */
  readonly message?: string;
}

/** A route whose handler is typed by its path and its schemas. */
interface TypedRoute<Path extends string, Query extends Schemas, Json extends TSchema, Ok extends TSchema>
  extends Omit<Route, "path" | "params" | "query" | "body" | "responses" | "handler"> {
  readonly path: Path;
  readonly params?: Readonly<Record<NamesIn<Path>, TSchema>>;
  readonly query?: Query;
  readonly body?: Body<Json>;
  readonly responses: { readonly 200?: ResponseSpec<Ok>; readonly [other: number]: ResponseSpec | undefined };
  handler(
    request: Asked<Readonly<Record<NamesIn<Path>, string>>, Static<TObject<Query>>, Static<Json>>,
  ): Promise<ReplyOf<Ok> | undefined> | ReplyOf<Ok> | undefined;
}

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type ReplyOf<Ok extends TSchema> = Omit<Static<Ok>, "status" | "message"> & { message?: string };

/** A route; its handler is checked against its schemas. */
export function route<
  const Path extends string,
  Query extends Schemas = Record<never, never>,
  Json extends TSchema = TSchema,
  Ok extends TSchema = TSchema,
>(definition: TypedRoute<Path, Query, Json, Ok>): Route {
  return definition as unknown as Route;
}
