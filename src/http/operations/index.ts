import { type Static, Type } from "@sinclair/typebox";
import { singleFlight } from "../../async/single-flight.js";
import { withTimeLimit } from "../../async/time-limit.js";
import { roles as knownRoles, type Role } from "../../config/settings.js";
import { scopes } from "../../keys/api-key.js";
import { shownBounds } from "../../keys/bounds.js";
import type { Meters, Probe } from "../../meters.js";
import { openApiDocument, type WebhookDocs } from "../core/openapi.js";
import { keepBody, madeOnce, respondWithKept } from "../core/response-body.js";
import { done, errorWith, json, oneOf, success, Time } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export interface OperationDependencies {
  readonly probes: readonly Probe[];
  readonly meters: Meters;
  /** Version of this package. */
  readonly version: string;
  /** Roles of this process. */
  readonly roles: readonly Role[];
  /** Returns all routes of the service. */
  routes(): readonly Route[];
  /** Calls that the service makes. */
  readonly webhooks: readonly WebhookDocs[];
}

/** Time limit of a store's health check, ms. */
const PROBE_MS = 2000;

/** The response of `/health`. Clients of InfluxDB read `name` and `status` as in its health check. */
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
    required: Type.Boolean({ description: "Whether the service cannot work without this store." }),
    state: oneOf(states),
    note: Type.Optional(Type.String({ description: "Description of the problem." })),
  },
  { title: "StoreState" },
);

export const Readiness = Type.Object(
  {
    version: Type.String({ description: "Version of the service." }),
    roles: Type.Array(oneOf(knownRoles), { description: "Roles of this process." }),
    ready: Type.Boolean({ description: "Whether all required stores are reachable." }),
    degraded: Type.Boolean({ description: "Whether any store has a problem." }),
    stores: Type.Array(StoreState),
  },
  { title: "Readiness" },
);

/** Routes for operators: liveness, readiness, metrics and the OpenAPI document. */
export function operationRoutes({
  probes,
  meters,
  version,
  roles,
  routes,
  webhooks,
}: OperationDependencies): readonly Route[] {
  const checkAll = singleFlight(() => Promise.all(probes.map(stateOf)));
  meters.gauge("build_info", "1, with the version of the service.", () => [{ labels: { version }, value: 1 }], [
    "version",
  ]);
  meters.gauge(
    "store_state",
    "1 for the state that a store is in, 0 for the others.",
    async () => (await checkAll()).flatMap(stateSamples),
    ["store", "state"],
  );
  const metrics = singleFlight(async () => Buffer.from(await meters.text()));
  const document = madeOnce(() => keepBody(JSON_TYPE, JSON.stringify(openApiDocument(routes(), webhooks, version))));

  return [
    route({
      method: "GET",
      path: "/health",
      scopes: "keyless",
      docs: {
        id: "checkHealth",
        tag: "operations",
        summary: "Check liveness",
        description:
          "Use it as a liveness probe. Reads no store and responds under any load. `name` and `status` follow InfluxDB's health check.",
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
        summary: "Check readiness",
        description:
          "Use it as a readiness probe and for load balancers. Returns the state of each store, and the version and roles of the process. Error 503: `store_unreachable`.",
      },
      responses: {
        200: success("ReadinessAnswer", Readiness),
        503: json(errorWith("NotReady", Readiness), "A required store is unreachable."),
      },
      async handler({ ctx }) {
        const stores = await checkAll();
        const away = stores.filter(({ state, required }) => state === "down" && required);
        const ready = away.length === 0;
        const degraded = stores.some(({ state }) => state !== "up");
        const data = { version, roles: [...roles], ready, degraded, stores };
        if (ready) return { data, message: degraded ? "degraded" : "success" };
        const message = "The store is unreachable";
        const errors = away.map(({ name }) => ({ code: "store_unreachable", path: name, message }));
        ctx.set({ "Cache-Control": "no-store", "Retry-After": "5" });
        ctx.status = 503;
        ctx.body = { status: 503, message: "Not ready", data, errors };
      },
    }),
    route({
      method: "GET",
      path: "/metrics",
      scopes: ["metric:read"],
      docs: {
        id: "readServiceMetrics",
        tag: "operations",
        summary: "Read the service's metrics",
        description: "Use it as a Prometheus scrape target.",
      },
      responses: { 200: done({ "text/plain": Type.String({ description: "Prometheus text format." }) }) },
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
        summary: "Read this OpenAPI document",
        description: "Use it to generate clients. The format is OpenAPI 3.1.",
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
        respondWithKept(ctx, await document());
      },
    }),
  ];
}

const JSON_TYPE = "application/json; charset=utf-8";

/** Returns the state of a store: down if it does not respond in time. The store logs the cause. */
async function stateOf({ name, required, check }: Probe): Promise<Static<typeof StoreState>> {
  try {
    const note = await withTimeLimit(PROBE_MS, [], () => check());
    return note === undefined ? { name, required, state: "up" } : { name, required, state: "degraded", note };
  } catch {
    return { name, required, state: "down" };
  }
}

function stateSamples({ name, state }: Static<typeof StoreState>) {
  return states.map((one) => ({ labels: { store: name, state: one }, value: one === state ? 1 : 0 }));
}

export const Key = Type.Object(
  {
    id: Type.String({ description: "`admin` for the key in the settings." }),
    name: Type.String({ description: "Name given at creation." }),
    scopes: Type.Array(oneOf(scopes), { description: "Scopes of the key, sorted." }),
    stream: Type.Optional(Type.String({ description: "Bound: the only stream that it writes to." })),
    event_streams: Type.Optional(
      Type.Boolean({ description: "True if the events of calls of Segment's API count for streams of their own." }),
    ),
    fields: Type.Optional(
      Type.Array(Type.String(), {
        description: "Bound: attributes that reads return, `segments` and `meta` included.",
      }),
    ),
    by: Type.Optional(Type.String({ description: "Bound: the only identity field that reads and messages use." })),
    origins: Type.Optional(Type.Array(Type.String(), { description: "Bound: origins whose pages may use the key." })),
    rate: Type.Optional(Type.Integer({ minimum: 1, description: "Bound: maximum requests per minute." })),
    expires_at: Type.Optional(Time("Bound: time from which the key is refused.")),
  },
  { title: "Key", description: "The API key that the request was made with.", additionalProperties: false },
);

const keyAnswer = success("KeyAnswer", Key);

/** Route that describes a key to its holder. */
export function keyRoutes(): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/key",
      scopes,
      within: { stream: () => true, fields: () => true, by: () => true },
      docs: {
        id: "readKey",
        tag: "operations",
        summary: "Read the request's own key",
        description:
          "Use it to check whether a key is valid, which scopes it has and what bounds it; bounds that it does not have are absent. Any valid key may call it. Error 401: `unauthenticated`.",
      },
      responses: { 200: keyAnswer },
      handler: ({ ctx: { state } }) => ({
        data: { id: state.keyId, name: state.keyName, scopes: [...state.scopes].sort(), ...shownBounds(state.bounds) },
      }),
    }),
  ];
}
