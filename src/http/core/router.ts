import Router from "@koa/router";
import type Koa from "koa";
import { notFound, ServiceError } from "../../errors.js";
import type { ApiContext, ApiState, Route } from "./route.js";

type Answer = (ctx: ApiContext) => Promise<void> | void;

/**
 * Routes a request by path and method, and sets `ctx.params`. Paths are case-sensitive, including a trailing slash. A
 * literal segment always precedes a parameter, whatever the method: `/api/entity/deletestatus/…`, however it is
 * escaped, never means a table of that name.
 */
export function routerOf(
  routes: readonly Route[],
  run: (route: Route) => Answer,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const places = new Map<string, Answer>();
  for (const path of reservedPaths(routes)) places.set(path, noRoute);
  for (const { path } of routes) {
    if (places.has(path)) continue;
    const here = routes.filter((route) => route.path === path);
    places.set(path, answerAt(new Map(here.map((route) => [route.method, run(route)]))));
  }
  const router = new Router({ sensitive: true, strict: true });
  const inOrder = [...places].sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  for (const [path, answer] of inOrder) router.all(path, (ctx) => answer(ctx as unknown as ApiContext));
  router.on("not-found", noRoute);
  return router.routes() as unknown as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
}

/** Handles the requests of a path by method, with HEAD as GET. */
function answerAt(byMethod: ReadonlyMap<string, Answer>): Answer {
  const methods = [...byMethod.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  const allow = [...methods, "OPTIONS"].join(", ");
  return (ctx) => {
    const { method } = ctx;
    const answer = byMethod.get(method === "HEAD" ? "GET" : method);
    if (answer !== undefined) return answer(ctx);
    ctx.set("Allow", allow);
    if (method !== "OPTIONS") throw new ServiceError("method-not-allowed", "Method Not Allowed");
    ctx.status = 204;
  };
}

function noRoute(): never {
  throw notFound("route");
}

/**
 * Returns every path below a literal segment that competes with another route's parameter, so that the literal is never
 * taken for the parameter's value.
 */
function reservedPaths(routes: readonly Route[]): Set<string> {
  const reserved = new Set<string>();
  for (const { path } of routes) {
    const segments = path.split("/");
    for (let i = 1; i < segments.length; i += 1) {
      const before = segments.slice(0, i).join("/");
      const name = segments[i] as string;
      if (name.startsWith(":") || !routes.some((other) => other.path.startsWith(`${before}/:`))) continue;
      reserved.add(`${before}/${name}{/*rest}`);
    }
  }
  return reserved;
}

/** Returns a sort key: literals before parameters before reserved paths. The first match handles the request. */
function rank(path: string): string {
  return path
    .replace("{/*rest}", "/*")
    .split("/")
    .map((segment) => (segment.startsWith("*") ? 2 : segment.startsWith(":") ? 1 : 0))
    .join("");
}
