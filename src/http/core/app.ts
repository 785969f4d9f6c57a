import { randomUUID } from "node:crypto";
import cors from "@koa/cors";
import Koa from "koa";
import type { Settings } from "../../config/settings.js";
import { ServiceError, type ServiceErrorOf } from "../../errors.js";
import type { Log } from "../../log.js";
import type { Meters } from "../../meters.js";
import { BROKEN_OFF } from "../edge/connections.js";
import { isLimited } from "../edge/limits.js";
import { canonicalPath } from "../edge/request-target.js";
import { errorResponse } from "./errors.js";
import { compressed } from "./response-body.js";
import type { ApiContext, ApiState, Route } from "./route.js";
import { routerOf } from "./router.js";
import { type RunDependencies, runRoute } from "./run-route.js";

export interface AppParts extends RunDependencies {
  readonly routes: readonly Route[];
  readonly log: Log;
  readonly meters: Meters;
  readonly settings: Pick<Settings, "http" | "limits">;
  /** Whether the service is stopping: then each answer is the last of its connection. */
  stopping(): boolean;
  readonly serviceErrorOf: ServiceErrorOf;
}

type App = Koa<ApiState, Koa.DefaultContextExtends>;

/** The application: middleware in the order in which a request meets it. */
export function createApp(parts: AppParts): App {
  const { routes, settings } = parts;
  const app: App = new Koa({ proxy: settings.http.trust_proxy });
  app.silent = true;
  app.use(answerAll(parts));
  if (settings.http.cors.origins.length > 0) app.use(corsHeaders(settings.http.cors.origins));
  app.use((ctx, next) => {
    ctx.path = canonicalPath(ctx.req, settings.limits.url_bytes);
    if (isLimited(ctx.path) && ctx.method !== "OPTIONS") parts.requestLimits.enter(ctx.res);
    return next();
  });
  app.use(compressed);
  app.use(routerOf(routes, (route) => runRoute(route, parts, settings.limits)));
  return app;
}

/**
 * Gives every request a response, with a request id; an error becomes its envelope. Each response is logged and
 * counted.
 */
function answerAll(parts: AppParts): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  return async (ctx, next) => {
    const context = ctx as unknown as ApiContext;
    const began = performance.now();
    ctx.state.requestId = randomUUID();
    ctx.res.setHeader("X-Request-Id", ctx.state.requestId);
    ctx.res.setHeader("X-Content-Type-Options", "nosniff");
    ctx.res.once("finish", () => noteAnswer(context, began, parts));
    ctx.onerror = (error) => {
      if (!error) return;
      // An error of a stream is told of twice: by the stream, and by the response that ends with it.
      ctx.onerror = () => {};
      answerLateError(context, error, parts);
    };
    try {
      await next();
    } catch (error) {
      answerError(context, error, parts);
    }
    if (parts.stopping()) ctx.set("Connection", "close");
  };
}

/** Headers that a handler may have set before its error, and that an error response must not have. */
const OF_SUCCESS = ["Content-Disposition", "Content-Encoding", "Content-Type", "ETag", "Last-Modified"];

function answerError(ctx: ApiContext, error: unknown, { log, routes, serviceErrorOf }: AppParts): void {
  const known = error instanceof ServiceError ? error : (serviceErrorOf(error) ?? error);
  // By the path, as a request may be refused before it has a route.
  const { errorCode } = routes.find(({ path, errorCode }) => errorCode !== undefined && path === ctx.path) ?? {};
  const { status, headers, body } = errorResponse(known, errorCode);
  if (status >= 500 && !isOverload(known)) {
    log.error(describeError(ctx, error, status), "a request failed");
  }
  for (const name of OF_SUCCESS) ctx.remove(name);
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
}

/**
 * Whether the service refuses a request for its load. `/metrics` counts these refusals: a line for each would make
 * overload worse.
 */
function isOverload(error: unknown): boolean {
  return error instanceof ServiceError && error.retryAfter !== undefined && error.cause === undefined;
}

/** Codes of the errors of a response whose caller closed the connection. */
const CALLER_GONE: readonly unknown[] = [...BROKEN_OFF, "EPIPE"];

/**
 * An error that comes when Koa is already sending: the error answer if nothing is out yet, else the connection ends.
 */
function answerLateError(ctx: ApiContext, error: Error, parts: AppParts): void {
  if (ctx.headerSent || !ctx.writable) {
    const isGone = "code" in error && CALLER_GONE.includes(error.code);
    if (!isGone) parts.log.error(describeError(ctx, error, ctx.status), "a response is cut off");
    ctx.res.destroy();
    return;
  }
  answerError(ctx, error, parts);
  ctx.res.end(JSON.stringify(ctx.body));
}

/** Logs and counts a response that is sent: by the route's pattern, never by its URL or caller. */
function noteAnswer(
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
 * What a log may say of an unexpected error: its request, kind and place. Its message could quote what a caller sent.
 */
function describeError({ state: { requestId, route } }: ApiContext, error: unknown, status: number): object {
  const request = { requestId, route: route?.path, status };
  if (!(error instanceof Error)) return { ...request, name: typeof error, at: [] };
  const at = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  const code = "code" in error ? String(error.code) : undefined;
  return { ...request, name: error.name, code, at: at.slice(0, 8).map((line) => line.trim()) };
}

/** Lets browsers of these origins call; `*` is every origin. Keys travel in a header, so no cookie is ever wanted. */
function corsHeaders(origins: readonly string[]): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  // As browsers write them: https://A.example:443 is https://a.example.
  const allowed = new Set(origins.map((origin) => (URL.canParse(origin) ? new URL(origin).origin : origin)));
  return cors({
    origin: (ctx) => {
      const origin = ctx.get("Origin");
      return allowed.has("*") ? "*" : allowed.has(origin) ? origin : "";
    },
    allowMethods: ["GET", "HEAD", "PUT", "POST", "DELETE"],
    allowHeaders: ["Authorization", "Content-Type", "Content-Encoding", "Idempotency-Key", "If-None-Match"],
    exposeHeaders: ["ETag", "Retry-After", "X-Request-Id", "Content-Disposition"],
    maxAge: 600,
  }) as Koa.Middleware<ApiState, Koa.DefaultContextExtends>;
}
