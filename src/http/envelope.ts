import type { Context } from "koa";

/** Answers 200 with the success envelope `{ status, message, data[, meta] }`. */
export function succeed(
  ctx: Pick<Context, "status" | "body">,
  data: unknown,
  options: { message?: string; meta?: unknown } = {},
): void {
  ctx.status = 200;
  ctx.body = {
    status: 200,
    message: options.message ?? "success",
    data,
    ...(options.meta === undefined ? {} : { meta: options.meta }),
  };
}
