import Router from "@koa/router";
import type Koa from "koa";
import { ServiceError } from "../errors.js";
import type { ApiContext, ApiState, Route } from "./route.js";

/** The path that the router matches in place of the one that was sent: see `routerPath`. */
export interface Routed {
  newRouterPath?: string;
}

type Answer = (ctx: ApiContext) => Promise<void> | void;

/**
 * Leads a request to the route of its path and method, and fills `ctx.params`. Case counts, a slash too many too, and a
 * name always goes before a parameter: `/api/entity/deletestatus/…`, however it is escaped, is never a table called so.
 */
export function routerOf(
  routes: readonly Route[],
  serveRoute: (route: Route) => Answer,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const places = new Map<string, Answer>();
  for (const path of reservedPaths(routes)) places.set(path, notFound);
  for (const { path } of routes) {
    if (places.has(path)) continue;
    const here = routes.filter((route) => route.path === path);
    places.set(path, answerAt(new Map(here.map((route) => [route.method, serveRoute(route)]))));
  }
  // The library tries the pattern of one place after the other. A path without parameters is found at once, and would go before all others.
  const plain = new Map([...places].filter(([path]) => !/[:{]/.test(path)));
  const router = new Router({ sensitive: true, strict: true });
  const inOrder = [...places].sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  for (const [path, answer] of inOrder) router.all(path, (ctx) => answer(ctx as unknown as ApiContext));
  router.on("not-found", notFound);
  const byPattern = router.routes() as unknown as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
  return (ctx: Routed & Koa.ParameterizedContext<ApiState>, next) => {
    const answer = plain.get(ctx.newRouterPath ?? "");
    if (answer === undefined) return byPattern(ctx, next);
    return answer(Object.assign(ctx, { params: {} }) as unknown as ApiContext);
  };
}

/** Answers for a path: by the route of the method, HEAD as GET. */
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

/** All below a name that stands where another route has a parameter, so that it is never taken for that one's value. */
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

/** Sorts names before parameters, and these before what is reserved: the first that fits is the one. */
function rank(path: string): string {
  return path
    .replace("{/*rest}", "/*")
    .split("/")
    .map((segment) => (segment.startsWith("*") ? 2 : segment.startsWith(":") ? 1 : 0))
    .join("");
}
