import Router from "@koa/router";
import type Koa from "koa";
import { ServiceError } from "../../errors.js";
import type { ApiContext, ApiState, Route } from "./route.js";

type Answer = (ctx: ApiContext) => Promise<void> | void;

/**
 * Passes a request to the route of its path and method, and fills `ctx.params`. Case and a trailing slash count, and a
 * name always goes before a parameter, whatever the method: `/api/entity/deletestatus/…`, however it is escaped, is
 * never a table called so.
 */
export function routerOf(
  routes: readonly Route[],
  run: (route: Route) => Answer,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const places = new Map<string, Answer>();
  for (const path of reservedPaths(routes)) places.set(path, notFound);
  for (const { path } of routes) {
    if (places.has(path)) continue;
    const here = routes.filter((route) => route.path === path);
    places.set(path, answerAt(new Map(here.map((route) => [route.method, run(route)]))));
  }
  const router = new Router({ sensitive: true, strict: true });
  const inOrder = [...places].sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  for (const [path, answer] of inOrder) router.all(path, (ctx) => answer(ctx as unknown as ApiContext));
  router.on("not-found", notFound);
  return router.routes() as unknown as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
}

/** Answers the requests of a path: by the route of the method, HEAD as GET. */
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

function notFound(): never {
  throw new ServiceError("not-found", "Not Found");
}

/**
 * Every path below a name that is in the place of another route's parameter, so that the name is never taken for its
 * value.
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

/** Sorts names before parameters, and these before reserved paths: the first that matches answers. */
function rank(path: string): string {
  return path
    .replace("{/*rest}", "/*")
    .split("/")
    .map((segment) => (segment.startsWith("*") ? 2 : segment.startsWith(":") ? 1 : 0))
    .join("");
}
