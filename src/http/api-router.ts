import { Router } from "@koa/router";
import type Koa from "koa";
import type { Scope } from "../keys/api-key.js";

/** What a request carries once it is through the door. */
export interface ApiState {
  /** Id of the API key (or `admin` for the one of the configuration). */
  keyId: string;
  scopes: ReadonlySet<Scope>;
}

export type ApiContext = Koa.ParameterizedContext<ApiState, Koa.DefaultContextExtends & { params: Record<string, string> }>;

export type Handler = (ctx: ApiContext) => Promise<void> | void;

export type Method = "GET" | "PUT" | "POST" | "DELETE";

export interface Route {
  readonly method: Method;
  /** Koa-router pattern; also what logs and `/metrics` name. */
  readonly path: string;
  /** Any one of these scopes lets a request in; `keyless` needs no key. */
  readonly access: readonly Scope[] | "keyless";
  readonly handler: Handler;
}

/** The one list of routes: the router, the scope test and the OpenAPI document are made from it. Order decides. */
export class Api {
  readonly routes: Route[] = [];

  add(method: Method, path: string, access: Route["access"], handler: Handler): this {
    this.routes.push({ method, path, access, handler });
    return this;
  }
}

/** A case-sensitive, strict router over the routes; `authenticate` runs before a handler, and so before a body byte is read. */
export function routerOf(api: Api, authenticate: (ctx: ApiContext, access: Route["access"]) => Promise<void>): Router<ApiState, Koa.DefaultContextExtends> {
  const router = new Router<ApiState, Koa.DefaultContextExtends>({ sensitive: true, strict: true });
  for (const route of api.routes) {
    const methods = route.method === "GET" ? ["GET", "HEAD"] : [route.method];
    router.register(route.path, methods, async (ctx) => {
      const context = ctx as unknown as ApiContext;
      await authenticate(context, route.access);
      await route.handler(context);
    });
  }
  return router;
}
