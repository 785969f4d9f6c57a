import type Koa from "koa";
import { type ErrorKind, ServiceError } from "../errors.js";
import type { Scope } from "../keys/api-key.js";
import { segmentsOf } from "./raw-path.js";

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
}

/** The one list of routes: the router, the scope test and the OpenAPI document are made from it. */
export class Api {
  readonly routes: Route[] = [];

  add(
    method: Method,
    path: string,
    access: Route["access"],
    handler: Handler,
    more: Pick<Route, "errorCode"> = {},
  ): this {
    this.routes.push({ method, path, access, handler, ...more });
    return this;
  }
}

/** What a path leads to. */
export interface Match {
  /** The route that serves the method; undefined when another method is served here. HEAD is served by GET. */
  readonly route: Route | undefined;
  readonly params: Record<string, string>;
  /** Methods served here, for `Allow`. */
  readonly allow: string;
}

/** A place in the tree of paths. */
interface Place {
  readonly names: Map<string, Place>;
  parameter: Place | undefined;
  readonly routes: Map<string, { route: Route; parameters: readonly string[] }>;
  allow: string;
}

/**
 * Finds the route of a raw path. Each segment is decoded before it is compared, case and all, and a name always goes
 * before a parameter: `/api/entity/deletestatus/…`, however it is escaped, is never a table called so.
 */
export function routerOf(api: Api): (method: string, rawPath: string) => Match {
  const root = newPlace();
  for (const route of api.routes) plant(root, route);

  return (method, rawPath) => {
    const values: string[] = [];
    let place: Place | undefined = root;
    for (const segment of segmentsOf(rawPath)) {
      const named: Place | undefined = place.names.get(segment);
      if (named === undefined) values.push(segment);
      place = named ?? place.parameter;
      if (place === undefined) break;
    }
    if (place === undefined || place.routes.size === 0) throw new ServiceError("not-found", "Not Found");
    const found = place.routes.get(method === "HEAD" ? "GET" : method);
    const params: Record<string, string> = Object.create(null);
    found?.parameters.forEach((name, i) => {
      params[name] = values[i] as string;
    });
    return { route: found?.route, params, allow: place.allow };
  };
}

function plant(root: Place, route: Route): void {
  const parameters: string[] = [];
  let place = root;
  for (const part of route.path.split("/").filter((part) => part !== "")) {
    if (part.startsWith(":")) {
      parameters.push(part.slice(1));
      place.parameter ??= newPlace();
      place = place.parameter;
    } else {
      const next = place.names.get(part) ?? newPlace();
      place.names.set(part, next);
      place = next;
    }
  }
  place.routes.set(route.method, { route, parameters });
  const methods = [...place.routes.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  place.allow = [...methods, "OPTIONS"].join(", ");
}

function newPlace(): Place {
  return { names: new Map(), parameter: undefined, routes: new Map(), allow: "" };
}
