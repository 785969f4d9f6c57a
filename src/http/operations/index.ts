import { type Static, Type } from "@sinclair/typebox";
import { singleFlight } from "../../async/single-flight.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Clock } from "../../clock.js";
import { roles as knownRoles, type Role } from "../../config/settings.js";
import { scopes } from "../../keys/api-key.js";
import { type Meters, NotReady, type Probe } from "../../meters.js";
import { openApiDocument } from "../core/openapi.js";
import { answerKept, type KeptBody, keepBody, madeOnce } from "../core/response-body.js";
import { done, errorWith, json, oneOf, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export interface OperationParts {
  readonly probes: readonly Probe[];
  readonly meters: Meters;
  /** Of this package. */
  readonly version: string;
  /** What this process does. */
  readonly roles: readonly Role[];
  readonly clock: Clock;
  /** Every route of the service. */
  routes(): readonly Route[];
}

/** How long a store may take to say that it is there, ms. */
const PROBE_MS = 2000;

const HOUR_MS = 3_600_000;

/** The answer to `/health`, in which clients of InfluxDB find the `name` and the `status` of its health check. */
const Health = Type.Object(
  {
    name: Type.String({ const: "entity-metrics" }),
    status: Type.String({ const: "pass" }),
    message: Type.String(),
    data: Type.Object({ alive: Type.Boolean({ description: "Always true." }) }, { title: "Health" }),
  },
  { title: "HealthAnswer" },
);

const states = ["up", "degraded", "down"] as const;

const StoreState = Type.Object(
  {
    name: Type.String(),
    required: Type.Boolean({ description: "Whether the service is of no use without it." }),
    state: oneOf(states),
    note: Type.Optional(Type.String({ description: "What is not as it should be." })),
  },
  { title: "StoreState" },
);

export const Readiness = Type.Object(
  {
    version: Type.String({ description: "Of the service." }),
    roles: Type.Array(oneOf(knownRoles), { description: "What this process does." }),
    ready: Type.Boolean({ description: "Whether every store that the service cannot work without is there." }),
    degraded: Type.Boolean({ description: "Whether something is not as it should be." }),
    stores: Type.Array(StoreState),
  },
  { title: "Readiness" },
);

/** What an operator asks: is it alive, can it work, how is it doing. */
export function operationRoutes({ probes, meters, version, roles, clock, routes }: OperationParts): readonly Route[] {
  const checkAll = singleFlight(() => Promise.all(probes.map(stateOf)));
  meters.gauge("build_info", "1, with the version of the service.", () => [{ labels: { version }, value: 1 }], [
    "version",
  ]);
  meters.gauge(
    "store_state",
    "1 for the state that a store is in, 0 for the others.",
    async () => (await checkAll()).flatMap(stateReadings),
    ["store", "state"],
  );
  const metrics = singleFlight(async () => Buffer.from(await meters.text()));
  let document: { hour: number; body(): Promise<KeptBody> } | undefined;

  return [
    route({
      method: "GET",
      path: "/health",
      scopes: "keyless",
      docs: {
        id: "checkHealth",
        tag: "operations",
        summary: "Whether the service is alive",
        description: "Reads no store. `name` and `status` are those of InfluxDB's health check.",
      },
      responses: { 200: json(Health) },
      handler({ ctx }) {
        ctx.set("Cache-Control", "no-store");
        ctx.body = { name: "entity-metrics", status: "pass", message: "success", data: { alive: true } };
        return undefined;
      },
    }),
    route({
      method: "GET",
      path: "/ready",
      scopes: "keyless",
      docs: {
        id: "checkReadiness",
        tag: "operations",
        summary: "Whether the stores are there",
        description: "Each store by name, with the version and the roles of the process.",
      },
      responses: {
        200: success("ReadinessAnswer", Readiness),
        503: json(errorWith("NotReady", Readiness), "One that the service cannot work without is away."),
      },
      async handler({ ctx }) {
        const stores = await checkAll();
        const away = stores.filter(({ state, required }) => state === "down" && required);
        const ready = away.length === 0;
        const degraded = stores.some(({ state }) => state !== "up");
        const data = { version, roles: [...roles], ready, degraded, stores };
        if (ready) return { data, message: degraded ? "degraded" : "success" };
        const errors = away.map(({ name, note }) =>
          note === undefined
            ? { code: "store_away", path: name, message: "The store is away" }
            : { code: "not_ready", path: name, message: note },
        );
        ctx.set({ "Cache-Control": "no-store", "Retry-After": "5" });
        ctx.status = 503;
        ctx.body = { status: 503, message: "Not ready", data, errors };
      },
    }),
    route({
      method: "GET",
      path: "/metrics",
      scopes: ["metric:read"],
      docs: { id: "readServiceMetrics", tag: "operations", summary: "How the service is doing" },
      responses: { 200: done({ "text/plain": Type.String({ description: "Prometheus text." }) }) },
      async handler({ ctx }) {
        const text = await metrics();
        ctx.set({ "Content-Type": meters.contentType, "Cache-Control": "no-store" });
        ctx.body = text;
      },
    }),
    route({
      method: "GET",
      path: "/openapi.json",
      scopes: "keyless",
      docs: {
        id: "readOpenApiDocument",
        tag: "operations",
        summary: "This document",
        description: "OpenAPI 3.1, for tools.",
      },
      responses: {
        200: json(
          Type.Unsafe<object>({
            type: "object",
            additionalProperties: Type.Unknown({ description: "A part of the document." }),
          }),
        ),
      },
      async handler({ ctx }) {
        const hour = Math.floor(clock() / HOUR_MS) * HOUR_MS;
        if (document?.hour !== hour) {
          const make = () => keepBody(JSON_TYPE, JSON.stringify(openApiDocument(routes(), version, hour)));
          document = { hour, body: madeOnce(make) };
        }
        answerKept(ctx, await document.body());
      },
    }),
  ];
}

const JSON_TYPE = "application/json; charset=utf-8";

/** A store's state; one that does not answer in time is down. Why it is down is for the logs of the store, unless it is `NotReady`. */
async function stateOf({ name, required, check }: Probe): Promise<Static<typeof StoreState>> {
  try {
    const note = await withTimeLimit(PROBE_MS, [], () => check());
    return note === undefined ? { name, required, state: "up" } : { name, required, state: "degraded", note };
  } catch (error) {
    return { name, required, state: "down", ...(error instanceof NotReady ? { note: error.message } : {}) };
  }
}

function stateReadings({ name, state }: Static<typeof StoreState>) {
  return states.map((one) => ({ labels: { store: name, state: one }, value: one === state ? 1 : 0 }));
}

export const Key = Type.Object(
  {
    id: Type.String({ description: "`admin` for the key of the configuration." }),
    name: Type.String({ description: "What it was called when it was made." }),
    scopes: Type.Array(oneOf(scopes), { description: "What it opens, sorted." }),
  },
  { title: "Key", description: "The API key that the request was made with.", additionalProperties: false },
);

const keyAnswer = success("KeyAnswer", Key);

/** What a key is, to its holder. */
export function keyRoutes(): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/key",
      scopes,
      docs: {
        id: "readKey",
        tag: "operations",
        summary: "The key that asks",
        description: "Any key is let in. It is the cheapest way to find out whether a key is valid, and what it opens.",
      },
      responses: { 200: keyAnswer },
      handler: ({ ctx: { state } }) => ({
        data: { id: state.keyId, name: state.keyName, scopes: [...state.scopes].sort() },
      }),
    }),
  ];
}
