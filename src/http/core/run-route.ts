import { Deadline } from "../../async/time-limit.js";
import type { Limits } from "../../config/settings.js";
import { ServiceError } from "../../errors.js";
import type { MemoryBudget } from "../../memory-budget.js";
import { onResponseClosed, sendContinue } from "../edge/connections.js";
import { isLimited, type RequestLimits } from "../edge/limits.js";
import { jsonReader } from "./json-body.js";
import { queryReader } from "./query.js";
import { compress, isNotModified, omitBody } from "./response-body.js";
import type { ApiContext, Reply, Route } from "./route.js";
import { parameterCheck } from "./validation.js";

/**
 * Authenticates a request for a route. Throws 401 without a valid key, 403 without a required scope or outside a bound
 * of the key, and 429 above its rate. `queryKey` is the key of the query.
 */
export type Authenticate = (
  ctx: ApiContext,
  route: Pick<Route, "path" | "scopes" | "alsoScope" | "within" | "keyInBody">,
  queryKey: string | undefined,
) => Promise<void>;

export interface RunDependencies {
  readonly requestLimits: RequestLimits;
  readonly authenticate: Authenticate;
  /** Memory of bodies, reads and unsent responses. */
  readonly memory: MemoryBudget;
}

type Run = (ctx: ApiContext) => Promise<void>;

/**
 * Runs the requests of a route: checks query and key, waits for capacity, then reads the body and calls the handler.
 * One deadline covers the whole request. Unlimited routes run at once: `/health`, `/ready` and `/metrics` respond under
 * any load.
 */
export function runRoute(
  route: Route,
  { requestLimits, authenticate, memory: budget }: RunDependencies,
  limits: Limits,
): Run {
  const readQuery = queryReader(route);
  const params = Object.entries(route.params ?? {}).map(([name, schema]) => ({
    name,
    check: parameterCheck(name, schema),
  }));
  const limited = isLimited(route.path);
  const readBody = route.body && jsonReader(route.body, limits.body_bytes);

  async function run(ctx: ApiContext): Promise<void> {
    const query = readQuery(ctx.querystring);
    if (route.scopes !== "keyless") await authenticate(ctx, route, query.key);
    if (!limited) return respond(ctx, query.values);
    await requestLimits.run(ctx.res, ctx.state.keyId, async (runs) => {
      ctx.state.deadline.onPause = (isPaused) => runs(!isPaused);
      await respond(ctx, query.values);
      const bytes = responseBytes(ctx);
      if (bytes !== undefined) ctx.state.memory.keepResponse(bytes);
    });
  }

  async function respond(ctx: ApiContext, query: Readonly<Record<string, unknown>>): Promise<void> {
    for (const { name, check } of params) check?.(ctx.params[name]);
    sendContinue(ctx.req, ctx.res);
    const body = await readBody?.(ctx);
    succeed(ctx, await route.handler({ ctx, params: ctx.params, query, body }));
    if (isNotModified(ctx)) omitBody(ctx);
  }

  return async (ctx) => {
    const deadline = new Deadline(limits.store_deadline_ms, tookTooLong);
    const memory = budget.open(
      (then) => onResponseClosed(ctx.res, then),
      () => deadline.restart(),
    );
    Object.assign(ctx.state, { route, deadline, memory });
    await deadline.limit(() => run(ctx));
    await compress(ctx);
  };
}

function tookTooLong(cause: Error): ServiceError {
  return new ServiceError("unavailable", "A store took too long; try again", { retryAfter: 1, cause });
}

/**
 * Responds 200 with the success envelope `{ status, message, data[, meta] }`, unless the handler returned undefined.
 */
function succeed(ctx: ApiContext, reply: Reply | undefined): void {
  if (reply === undefined) return;
  const { data, meta, message = "success" } = reply;
  ctx.status = 200;
  ctx.set("Cache-Control", "no-store");
  ctx.body = { status: 200, message, data, ...(meta === undefined ? {} : { meta }) };
}

/**
 * Returns the bytes of the response and serializes an object body. Undefined for a stream, which is read at the
 * caller's speed.
 */
function responseBytes(ctx: ApiContext): number | undefined {
  const { body } = ctx;
  if (body === null || body === undefined || ctx.method === "HEAD") return 0;
  if (typeof body === "object" && !Buffer.isBuffer(body)) {
    if ("pipe" in body) return undefined;
    ctx.body = JSON.stringify(body);
  }
  return ctx.length ?? 0;
}
