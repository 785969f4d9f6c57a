import Router from "@koa/router";
import type Koa from "koa";
import { notFound, ServiceError } from "../../errors.js";
import type { ApiContext, ApiState, Route } from "./route.js";

type Handler = (ctx: ApiContext) => Promise<void> | void;

/**
 * Routes a request by path and method, and sets `ctx.params`. Paths are case-sensitive, and a trailing slash counts. A
 * literal segment precedes a parameter; a method that only the parameter's path has is handled there.
 */
export function routerOf(
  routes: readonly Route[],
  run: (route: Route) => Handler,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const router = new Router({ sensitive: true, strict: true });
  const paths = [...new Set(routes.map(({ path }) => path))];
  for (const path of paths.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
    const here = routes.filter((route) => route.path === path);
    const elsewhere = routes.filter((route) => route.path !== path && patternOf(route.path).test(path));
    const handle = handlerAt(
      new Map(here.map((route) => [route.method, run(route)])),
      new Set(elsewhere.map(({ method }) => method)),
    );
    router.all(path, (ctx, next) => handle(ctx as unknown as ApiContext, next));
  }
  router.on("not-found", () => {
    throw notFound("route");
  });
  return router.routes() as unknown as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
}

/** Handles the requests of a path by method, with HEAD as GET. `elsewhere`: methods that a later path also handles. */
function handlerAt(
  byMethod: ReadonlyMap<string, Handler>,
  elsewhere: ReadonlySet<string>,
): (ctx: ApiContext, next: () => Promise<void>) => Promise<void> | void {
  const methods = [...new Set([...byMethod.keys(), ...elsewhere])].flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method],
  );
  const allow = [...methods, "OPTIONS"].join(", ");
  return (ctx, next) => {
    const { method } = ctx;
    const routed = method === "HEAD" ? "GET" : method;
    const handle = byMethod.get(routed);
    if (handle !== undefined) return handle(ctx);
    if (elsewhere.has(routed)) return next();
    ctx.set("Allow", allow);
    if (method !== "OPTIONS") throw new ServiceError("method-not-allowed", `This route allows ${allow}`);
    ctx.status = 204;
  };
}

/** Returns the pattern of the paths that a path with parameters matches. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`);
}

/** Returns a sort key that places a parameter after every literal segment. The first match handles the request. */
function rank(path: string): string {
  return path.replaceAll(":", "~");
}
