import { withTimeLimit } from "../../async/time-limit.js";
import type { Clock } from "../../clock.js";
import type { Meters } from "../../meters.js";
import type { Probe } from "../../probe.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { answerKept, type KeptBody, keepBody } from "../kept-body.js";
import { openApiDocument } from "../openapi/document.js";
import { once, whileUnderWay } from "../shared-work.js";

export interface OperationParts {
  readonly probes: readonly Probe[];
  readonly meters: Meters;
  /** Of this package. */
  readonly version: string;
  readonly clock: Clock;
}

/** How long a store may take to say that it is there, ms. */
const PROBE_MS = 2000;

const HOUR_MS = 3_600_000;

/** What an operator asks: is it alive, can it work, how is it doing. */
export function operationRoutes(api: Api, { probes, meters, version, clock }: OperationParts): void {
  api.add("GET", "/health", "keyless", (ctx) => {
    ctx.set("Cache-Control", "no-store");
    succeed(ctx, { alive: true });
  });

  const lookAtAll = whileUnderWay(() => Promise.all(probes.map(look)));
  api.add("GET", "/ready", "keyless", async (ctx) => {
    const stores = await lookAtAll();
    const away = stores.filter(({ state, required }) => state === "down" && required);
    const ready = away.length === 0;
    const degraded = stores.some(({ state }) => state !== "up");
    ctx.set("Cache-Control", "no-store");
    succeed(ctx, { ready, degraded, stores }, { message: degraded ? "degraded" : "success" });
    if (ready) return;
    const errors = away.map(({ name }) => ({ code: "store_away", path: name, message: "The store is away" }));
    ctx.set("Retry-After", "5");
    ctx.status = 503;
    ctx.body = { status: 503, message: "Not ready", data: { ready, degraded, stores }, errors };
  });

  const metrics = whileUnderWay(async () => Buffer.from(await meters.text()));
  const answerMetrics = async (ctx: ApiContext) => {
    const text = await metrics();
    ctx.set("Content-Type", meters.contentType);
    ctx.set("Cache-Control", "no-store");
    ctx.body = text;
  };
  api.add("GET", "/metrics", ["metric:read"], answerMetrics, { ownPlaces: true });

  let document: { hour: number; body(): Promise<KeptBody> } | undefined;
  api.add("GET", "/openapi.json", "keyless", async (ctx) => {
    const hour = Math.floor(clock() / HOUR_MS) * HOUR_MS;
    if (document?.hour !== hour) {
      document = { hour, body: once(() => keepBody(JSON_TYPE, JSON.stringify(openApiDocument(api, version, hour)))) };
    }
    answerKept(ctx, await document.body());
  });
}

const JSON_TYPE = "application/json; charset=utf-8";

interface StoreState {
  readonly name: string;
  readonly required: boolean;
  readonly state: "up" | "degraded" | "down";
  /** What is not as it should be. */
  readonly note?: string;
}

/** A store's state; one that does not answer in time is down. Why it is down is for the logs of the store. */
async function look({ name, required, check }: Probe): Promise<StoreState> {
  try {
    const note = await withTimeLimit(PROBE_MS, [], () => check());
    return note === undefined ? { name, required, state: "up" } : { name, required, state: "degraded", note };
  } catch {
    return { name, required, state: "down" };
  }
}
