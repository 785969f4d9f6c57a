import { randomUUID } from "node:crypto";
import Koa from "koa";
import { ServiceError } from "../errors.js";
import type { Log } from "../log.js";
import { type Api, type ApiContext, type ApiState, type Route, routerOf } from "./api-router.js";
import { errorResponse } from "./error-response.js";

export interface AppParts {
  readonly api: Api;
  readonly log: Log;
  authenticate(ctx: ApiContext, access: Route["access"]): Promise<void>;
}

/** The application: middleware in the order in which a request meets it. */
export function createApp({ api, log, authenticate }: AppParts): Koa<ApiState, Koa.DefaultContextExtends> {
  const app = new Koa<ApiState, Koa.DefaultContextExtends>();
  const router = routerOf(api, authenticate);
  app.use(async (ctx, next) => {
    ctx.set("X-Request-Id", randomUUID());
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError("not-found", "Not Found");
    } catch (error) {
      const { status, headers, body } = errorResponse(error);
      if (status === 500) log.error({ err: error, requestId: ctx.response.get("X-Request-Id") }, "a request failed");
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  });
  app.use(router.routes());
  return app;
}
