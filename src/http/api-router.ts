import type Koa from "koa";
import type { ErrorKind } from "../errors.js";
import type { Scope } from "../keys/api-key.js";

/** What a request carries once it is through the door. */
export interface ApiState {
  /** Id of the API key (or `admin` for the one of the configuration). */
  keyId: string;
  scopes: ReadonlySet<Scope>;
  requestId: string;
  /** The route that serves it; absent when there is none. */
  route?: Route;
}

export type ApiContext = Koa.ParameterizedContext<
  ApiState,
  Koa.DefaultContextExtends & { params: Record<string, string> }
>;

export type Handler = (ctx: ApiContext) => Promise<void> | void;

export type Method = "GET" | "PUT" | "POST" | "DELETE";

export interface Route {
  readonly method: Method;
  /** Segments and `:parameters`; also what logs and `/metrics` name. */
  readonly path: string;
  /** Any one of these scopes lets a request in; `keyless` needs no key. */
  readonly access: readonly Scope[] | "keyless";
  readonly handler: Handler;
  /** What the protocol that is spoken here calls a kind of error: goes out as `code` beside the envelope. */
  readonly errorCode?: (kind: ErrorKind) => string;
  /** Its requests take none of the places of the service, and those of the key are counted apart: it answers under any load. */
  readonly ownPlaces?: boolean;
  /** Names of its query parameters. */
  readonly query: readonly string[];
  /** Whether other query parameters are ignored; otherwise they are refused. Said of no route but a GET. */
  readonly openQuery: boolean;
}

/** The one list of routes: the router, the scope test and the OpenAPI document are made from it. */
export class Api {
  readonly routes: Route[] = [];

  add(
    method: Method,
    path: string,
    access: Route["access"],
    handler: Handler,
    more: Partial<Pick<Route, "errorCode" | "ownPlaces" | "query" | "openQuery">> = {},
  ): this {
    const openQuery = method === "GET" && more.query === undefined;
    this.routes.push({ method, path, access, handler, query: [], openQuery, ...more });
    return this;
  }
}
