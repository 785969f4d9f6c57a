import cors from "@koa/cors";
import type Koa from "koa";
import type { ApiState } from "./route.js";

/** Lets browsers of these origins call; `*` is every origin. Keys travel in a header, so no cookie is ever wanted. */
export function corsHeaders(origins: readonly string[]): Koa.Middleware<ApiState, Koa.DefaultContextExtends> {
  const allowed = new Set(origins);
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
