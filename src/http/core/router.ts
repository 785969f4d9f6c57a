import Router from "@koa/router";
import type Koa from "koa";
import { notFound, ServiceError } from "../../errors.js";
import type { ApiContext, ApiState, Route } from "./route.js";

type Handler = (ctx: ApiContext) => Promise<void> | void;

/**
 * Routes a request by path and method, and sets `ctx.params`. Paths are case-sensitive, and a trailing slash counts. A
 * literal segment precedes a parameter, for every method: tables and segments cannot have such a name.
 */
export function routerOf(
  routes: readonly Route[],
  run: (route: Route) => Handler,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const router = new Router({ sensitive: true, strict: true });
  const paths = [...new Set(routes.map(({ path }) => path))];
  for (const path of paths.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
    const here = routes.filter((route) => route.path === path);
    const handle = handlerAt(new Map(here.map((route) => [route.method, run(route)])));
    router.all(path, (ctx) => handle(ctx as unknown as ApiContext));
  }
  router.on("not-found", () => {
    throw notFound("route");
  });
  return router.routes() as unknown as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
}

/** Handles the requests of a path by method, with HEAD as GET. */
function handlerAt(byMethod: ReadonlyMap<string, Handler>): Handler {
  const methods = [...byMethod.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  const allow = [...methods, "OPTIONS"].join(", ");
  return (ctx) => {
    const { method } = ctx;
    const handle = byMethod.get(method === "HEAD" ? "GET" : method);
    if (handle !== undefined) return handle(ctx);
    ctx.set("Allow", allow);
    if (method !== "OPTIONS") throw new ServiceError("method-not-allowed", `This route allows ${allow}`);
    ctx.status = 204;
  };
}

/** Returns a sort key that places a parameter after every literal segment. The first match handles the request. */
function rank(path: string): string {
  return path.replaceAll(":", "~");
}
