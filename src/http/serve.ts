import type { Limits } from "../config/settings.js";
import type { Admission, BoundUnsent } from "./admission.js";
import type { Authenticate } from "./authenticate.js";
import { type BodyParts, hasBody } from "./body.js";
import { letBodyCome, whenOut } from "./connections.js";
import { jsonBody } from "./json-body.js";
import { queryReader } from "./query.js";
import type { ApiContext, Reply, Route } from "./route.js";
import type { Turns } from "./turns.js";
import { bodyCheck, parameterCheck } from "./validation.js";

export interface ServeParts {
  readonly admission: Admission;
  readonly authenticate: Authenticate;
  readonly boundUnsent: BoundUnsent;
  readonly bodies: BodyParts;
}

type Serve = (ctx: ApiContext) => Promise<void>;

/**
 * Serves the requests of a route: each takes a place of the service, shows its key, takes a place of the key, waits for its turn, and
 * only then are its body read and its handler called. The places are kept until the response is out, the turn until it is made. A route
 * without a key takes neither places nor a turn, and one with places of its own takes none of the service's and no turn: so `/health`,
 * `/ready` and `/metrics` answer under any load.
 */
export function serve(route: Route, parts: ServeParts, limits: Pick<Limits, "body_bytes" | "nesting">): Serve {
  const answer = answerer(route, parts.bodies, limits);
  if (route.scopes === "keyless") return answer;
  const work: Serve = async (ctx) => {
    letBodyCome(ctx.req, ctx.res);
    await answer(ctx);
    parts.boundUnsent(ctx);
  };
  return async (ctx) => {
    const leave = await enter(ctx, route, parts);
    try {
      if (route.ownPlaces) await work(ctx);
      else await inTurn(ctx, parts.admission.turns, work);
    } finally {
      whenOut(ctx.res, leave);
    }
  };
}

async function inTurn(ctx: ApiContext, turns: Turns, work: Serve): Promise<void> {
  const turn = turns.next((then) => whenOut(ctx.res, then));
  if (turn !== undefined) await turn;
  try {
    await work(ctx);
  } finally {
    turns.end();
  }
}

/** Takes the places; returns what gives them back. A request without a valid key keeps none while its error is sent. */
async function enter(ctx: ApiContext, route: Route, { admission, authenticate }: ServeParts): Promise<() => void> {
  const leaveService = route.ownPlaces ? () => {} : admission.enter();
  try {
    await authenticate(ctx, route);
    const { keyId } = ctx.state;
    const leaveKey = await admission.enterKey(route.ownPlaces ? `${keyId} ${route.path}` : keyId);
    return () => {
      leaveKey();
      leaveService();
    };
  } catch (error) {
    leaveService();
    throw error;
  }
}

/** Reads and checks what the route has schemas for, calls its handler, and answers with what it returns. */
function answerer(route: Route, bodies: BodyParts, limits: Pick<Limits, "body_bytes" | "nesting">): Serve {
  const checks = Object.entries(route.params ?? {}).map(([name, schema]) => ({
    name,
    check: parameterCheck(name, schema),
  }));
  const readQuery = queryReader(route.query ?? {});
  const readBody = route.body && { read: jsonBody(limits, bodies), check: bodyCheck(route.body.schema) };
  return async (ctx) => {
    const { params } = ctx;
    for (const { name, check } of checks) check?.(params[name]);
    const query = readQuery(ctx.querystring);
    const answer = async (body: unknown) => succeed(ctx, await route.handler({ ctx, params, query, body }));
    if (readBody === undefined) await answer(undefined);
    else if (route.body?.optional && !hasBody(ctx)) await answer({});
    else {
      const { deadline } = ctx.state;
      deadline.pause();
      await readBody.read(ctx, () => {
        deadline.resume();
        return answer(readBody.check(ctx.request.body));
      });
    }
  };
}

/** Answers 200 with the success envelope `{ status, message, data[, meta] }`; a handler that returns nothing has answered itself. */
function succeed(ctx: ApiContext, reply: Reply | undefined): void {
  if (reply === undefined) return;
  const { data, meta, message = "success" } = reply;
  ctx.status = 200;
  ctx.set("Cache-Control", "no-store");
  ctx.body = { status: 200, message, data, ...(meta === undefined ? {} : { meta }) };
}
