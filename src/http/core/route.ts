import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type Koa from "koa";
import type { Deadline } from "../../async/time-limit.js";
import type { KeyBounds, Scope } from "../../keys/api-key.js";
import type { DataBound } from "../../keys/bounds.js";
import type { Reservation } from "../../memory-budget.js";
import type { ProtocolErrors } from "../edge/errors.js";

/** State of an authenticated request. */
export interface ApiState {
  /** Id of the API key; `admin` for the key in the settings. */
  keyId: string;
  /** Name given to the key at its creation. */
  keyName: string;
  scopes: ReadonlySet<Scope>;
  bounds: KeyBounds;
  requestId: string;
  /** The matched route; absent without a match. */
  route?: Route;
  /** Time limit of the request across all stores; when it passes, the response is 503. */
  deadline: Deadline;
  /** Memory that the request reserves, until its response is sent or its caller has disconnected. */
  memory: Reservation;
}

export type ApiContext = Koa.ParameterizedContext<
  ApiState,
  Koa.DefaultContextExtends & { params: Record<string, string> }
>;

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** Tags in the order of the pages: reading before writing. */
export const tags = ["metrics", "entities", "catalogue", "operations", "collecting", "deletion"] as const;

/**
 * Whether a request with these path parameters is within a bound of its key. A bound that concerns the scopes of the
 * route and is absent here refuses every request.
 */
export type Within = {
  readonly [B in DataBound]?: (bound: NonNullable<KeyBounds[B]>, params: Readonly<Record<string, string>>) => boolean;
};

/**
 * Definition of a route. The router, the checks of key, query and body, the types of the handler and the OpenAPI
 * document derive from it.
 */
export interface Route {
  readonly method: Method;
  /** Path with `:parameters`; also its name in logs and `/metrics`. */
  readonly path: string;
  /** A request needs one of these scopes; `keyless` needs no key. */
  readonly scopes: readonly Scope[] | "keyless";
  /** An additional required scope. */
  readonly alsoScope?: Scope;
  readonly within?: Within;
  readonly docs: RouteDocs;
  /** Path parameters. */
  readonly params?: Schemas;
  /** Query parameters; each is absent or has the type of its schema. A boolean is `true` or `false`. */
  readonly query?: Schemas;
  /**
   * Whether unknown query parameters are refused (default) or ignored, as on every GET without query parameters.
   * `unchecked` passes the query to a page's script, which may repeat parameters.
   */
  readonly unknownQuery?: "refuse" | "ignore" | "unchecked";
  /** Headers that the handler reads. */
  readonly headers?: Schemas;
  /** A small JSON body, read and validated before the handler runs. */
  readonly body?: Body;
  /** A body that the handler reads, by media type. */
  readonly stream?: Readonly<Record<string, Body>>;
  /** Responses by status. Success is 200 or 204; errors that every route can return are not listed. */
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Errors in the form of the route's protocol. The path must have no parameters. */
  readonly protocolErrors?: ProtocolErrors;
  /**
   * Reads the key of a request that has none in its headers or query. The body is read before the check, so it must be
   * small.
   */
  keyInBody?(ctx: ApiContext): Promise<string | undefined>;
  /**
   * Handles a request: returns the contents of the success envelope, or undefined after setting the response on the
   * context.
   */
  handler(request: RouteRequest): Promise<Reply | undefined> | Reply | undefined;
}

/**
 * Schemas by name. A value that violates its schema is refused with the schema's `issue`. A parameter's schema without
 * an `issue` only documents: the handler validates. A body field without one gets a message derived from its type and
 * bounds.
 */
export type Schemas = Readonly<Record<string, TSchema>>;

/** Code and message for a value that violates a schema: `invalid`, with the name of the parameter or field as path. */
export interface SchemaIssue {
  readonly code: string;
  readonly message: string;
}

export interface RouteDocs {
  /** Operation id, and the function name in generated clients. */
  readonly id: string;
  readonly tag: (typeof tags)[number];
  readonly summary: string;
  readonly description?: string;
  /** Query parameters that callers should always send. */
  readonly requiredQuery?: readonly string[];
}

export interface Body<S extends TSchema = TSchema> {
  readonly schema: S;
  /** Whether the body may be absent; it then counts as an empty object. */
  readonly optional?: boolean;
  /** Whether the handler limits the nesting of the body. Default: it is nested at most 16 deep. */
  readonly limitsNesting?: boolean;
  /** Example bodies by name. Each one succeeds after the first example of `POST /collect/json/{stream}` was sent. */
  readonly examples: Readonly<Record<string, unknown>>;
}

export interface ResponseSpec<S extends TSchema = TSchema> {
  readonly description: string;
  /** Schemas of the body by media type; empty without a body. */
  readonly content: Readonly<Record<string, S>>;
  /** Whether the body is the error envelope. */
  readonly isError?: boolean;
}

/** A request as passed to a handler. Everything with a schema in the route is validated. */
export interface RouteRequest<
  Params = Readonly<Record<string, string>>,
  Query = Readonly<Record<string, unknown>>,
  Json = unknown,
> {
  readonly ctx: ApiContext;
  readonly params: Params;
  readonly query: Query;
  readonly body: Json;
}

/** Contents of the success envelope. */
export interface Reply {
  readonly data: unknown;
  readonly meta?: unknown;
  /** Default: `success`. */
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
    request: RouteRequest<Readonly<Record<NamesIn<Path>, string>>, Static<TObject<Query>>, Static<Json>>,
  ): Promise<ReplyOf<Ok> | undefined> | ReplyOf<Ok> | undefined;
}

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type ReplyOf<Ok extends TSchema> = Omit<Static<Ok>, "status" | "message"> & { message?: string };

/** Defines a route and checks its handler against its schemas. */
export function route<
  const Path extends string,
  Query extends Schemas = Record<never, never>,
  Json extends TSchema = TSchema,
  Ok extends TSchema = TSchema,
>(definition: TypedRoute<Path, Query, Json, Ok>): Route {
  return definition as unknown as Route;
}
