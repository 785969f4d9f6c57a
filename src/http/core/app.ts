import { randomUUID } from "node:crypto";
import cors from "@koa/cors";
import Koa from "koa";
import type { Settings } from "../../config/settings.js";
import { ServiceError, type ToServiceError } from "../../errors.js";
import type { Log } from "../../log.js";
import type { Meters } from "../../meters.js";
import { DISCONNECT_CODES } from "../edge/connections.js";
import { errorResponse, type ProtocolErrors } from "../edge/errors.js";
import { canonicalPath, WHOLE_SERVER } from "../edge/request-target.js";
import type { ApiContext, ApiState, Route } from "./route.js";
import { routerOf } from "./router.js";
import { type RunDependencies, runRoute } from "./run-route.js";

export interface AppDependencies extends RunDependencies {
  readonly routes: readonly Route[];
  readonly log: Log;
  readonly meters: Meters;
  readonly settings: Pick<Settings, "http" | "limits">;
  readonly allowsOrigin: AllowsOrigin;
  /** Errors of the protocol that a path speaks. */
  readonly protocols: ReadonlyMap<string, ProtocolErrors>;
  /** Whether the service is stopping; then each response closes its connection. */
  stopping(): boolean;
  readonly toServiceError: ToServiceError;
}

/**
 * Returns whether the key of the request is bound to this origin, so that its pages may read the response. Without a
 * valid key, as in a preflight, returns whether any valid key is bound to the origin. Returns false if the store does
 * not respond.
 */
export type AllowsOrigin = (
  ctx: Pick<ApiContext, "req" | "method" | "querystring">,
  origin: string,
) => Promise<boolean>;

type App = Koa<ApiState, Koa.DefaultContextExtends>;

/** Creates the application; middleware is listed in the order of execution. */
export function createApp(dependencies: AppDependencies): App {
  const { routes, settings } = dependencies;
  const app: App = new Koa({ proxy: settings.http.trust_proxy, maxIpsCount: 1 });
  app.silent = true;
  app.use(respondToAll(dependencies));
  app.use(corsHeaders(settings.http.cors.origins, dependencies.allowsOrigin));
  app.use((ctx, next) => {
    const path = canonicalPath(ctx.req);
    if (path === WHOLE_SERVER) {
      ctx.set("Allow", [...METHODS, "OPTIONS"].join(", "));
      ctx.status = 204;
      return;
    }
    ctx.path = path;
    return next();
  });
  app.use(routerOf(routes, (route) => runRoute(route, dependencies, settings.limits)));
  return app;
}

/** Gives every response a request id, converts errors to the error envelope, and logs and counts each response. */
function respondToAll(dependencies: AppDependencies): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  return async (ctx, next) => {
    const context = ctx as unknown as ApiContext;
    const began = performance.now();
    ctx.state.requestId = randomUUID();
    ctx.res.setHeader("X-Request-Id", ctx.state.requestId);
    ctx.res.setHeader("X-Content-Type-Options", "nosniff");
    ctx.res.once("finish", () => recordResponse(context, began, dependencies));
    ctx.onerror = (error) => {
      if (!error) return;
      // A stream error is reported twice: by the stream and by the response that ends with it.
      ctx.onerror = () => {};
      respondToLateError(context, error, dependencies);
    };
    try {
      await next();
    } catch (error) {
      respondToError(context, error, dependencies);
    }
    if (dependencies.stopping()) ctx.set("Connection", "close");
  };
}

/** Headers that a handler may set before it fails and that an error response must not have. */
const SUCCESS_HEADERS = ["Content-Disposition", "Content-Encoding", "Content-Type", "ETag", "Last-Modified"];

function respondToError(ctx: ApiContext, error: unknown, { log, protocols, toServiceError }: AppDependencies): void {
  const known = error instanceof ServiceError ? error : (toServiceError(error) ?? error);
  // Decided by path, because a request may be rejected before routing.
  const { status, headers, body } = errorResponse(known, protocols.get(ctx.path));
  if (errorResponse(known).status >= 500 && !isOverload(known)) {
    log.error(describeError(ctx, error, status), "a request failed");
  }
  for (const name of SUCCESS_HEADERS) ctx.remove(name);
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
}

/**
 * Returns whether the service refused a request because of its load. `/metrics` counts these refusals; logging each
 * would make overload worse.
 */
function isOverload(error: unknown): boolean {
  return error instanceof ServiceError && error.retryAfter !== undefined && error.cause === undefined;
}

/** Error codes of a response whose caller closed the connection. */
const CALLER_GONE: readonly unknown[] = [...DISCONNECT_CODES, "EPIPE"];

/**
 * Handles an error after Koa has started to respond: sends the error response if no bytes were sent, otherwise closes
 * the connection.
 */
function respondToLateError(ctx: ApiContext, error: Error, dependencies: AppDependencies): void {
  if (ctx.headerSent || !ctx.writable) {
    const isGone = "code" in error && CALLER_GONE.includes(error.code);
    if (!isGone) dependencies.log.error(describeError(ctx, error, ctx.status), "a response was aborted");
    ctx.res.destroy();
    return;
  }
  respondToError(ctx, error, dependencies);
  ctx.res.end(JSON.stringify(ctx.body));
}

/** Logs and counts a response by the route's pattern, never by URL or caller. */
function recordResponse(
  ctx: ApiContext,
  began: number,
  { log, meters }: { readonly log: Log; readonly meters: Meters },
): void {
  const ms = performance.now() - began;
  const route = ctx.state.route?.path ?? "none";
  const method = ctx.state.route === undefined ? "other" : ctx.method;
  meters.request(method, route, ctx.status, ms / 1000);
  log.debug(
    { method, route, status: ctx.status, ms: Math.round(ms * 10) / 10, requestId: ctx.state.requestId },
    "answered",
  );
}

/**
 * Describes an unexpected error for the log: request, kind and stack. Omits the message, which could quote the input.
 */
function describeError({ state: { requestId, route } }: ApiContext, error: unknown, status: number): object {
  const request = { requestId, route: route?.path, status };
  if (!(error instanceof Error)) return { ...request, name: typeof error, at: [] };
  const at = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  const code = "code" in error ? String(error.code) : undefined;
  return { ...request, name: error.name, code, at: at.slice(0, 8).map((line) => line.trim()) };
}

const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"];

/**
 * Sends CORS headers to pages of these origins (`*`: any origin) and of the origins in the bound of the request's key.
 * Keys are sent in a header, so cookies are never needed.
 */
function corsHeaders(
  origins: readonly string[],
  allowsOrigin: AllowsOrigin,
): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  // Normalized as browsers do: https://A.example:443 becomes https://a.example.
  const allowed = new Set(origins.map((origin) => (URL.canParse(origin) ? new URL(origin).origin : origin)));
  const withHeaders = cors({
    origin: async (ctx) => {
      const origin = ctx.get("Origin");
      if (allowed.has("*")) return "*";
      return allowed.has(origin) || (origin !== "" && (await allowsOrigin(ctx as ApiContext, origin))) ? origin : "";
    },
    allowMethods: METHODS,
    allowHeaders: [
      ...["Authorization", "Content-Type", "Content-Encoding", "Idempotency-Key", "If-None-Match"],
      "X-Retry-Count",
    ],
    exposeHeaders: ["ETag", "Retry-After", "X-Request-Id", "Content-Disposition"],
    maxAge: 600,
  }) as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
  return (ctx, next) => (allowed.size === 0 && ctx.req.headers.origin === undefined ? next() : withHeaders(ctx, next));
}
