import { Type } from "@sinclair/typebox";
import { hasBody } from "../core/body.js";
import { exampleNames } from "../core/openapi.js";
import { json } from "../core/responses.js";
import { type ApiContext, type Body, type Route, route } from "../core/route.js";
import { type CallType, callTypes } from "./calls.js";
import { type CallDependencies, collectCalls, fieldOf } from "./collect-calls.js";
import { type CallBody, readCalls } from "./read-calls.js";

/** Maximum bytes of a body that contains the key, after inflation: it is read before the key is checked. */
const BODY_WITH_KEY_BYTES = 500 * 1024;

/**
 * Routes of Segment's HTTP tracking API, each also under its first letter. A 200 means that every call is durable,
 * applied and counted, or rejected.
 */
export function segmentRoutes(dependencies: CallDependencies): readonly Route[] {
  const { limits } = dependencies;
  /** Bodies that were read for their keys. */
  const bodies = new WeakMap<ApiContext, CallBody>();

  const callRoute = (name: RouteName, isShort: boolean): Route =>
    route({
      method: "POST",
      path: `/v1/${isShort ? name[0] : name}`,
      scopes: ["entity:write"],
      // The calls go to the stream of the key.
      within: { stream: () => true },
      unknownQuery: "ignore",
      async keyInBody(ctx) {
        if (!hasBody(ctx)) return undefined;
        const body = await readCalls(ctx, name === "batch", BODY_WITH_KEY_BYTES, limits);
        bodies.set(ctx, body);
        const key = fieldOf(body.envelope, "writeKey");
        return typeof key === "string" && key !== "" ? key : undefined;
      },
      protocolErrors: { code: (_kind, issue) => issue, unavailable: "too-many-requests" },
      docs: {
        id: `segmentApi${name[0]?.toUpperCase()}${name.slice(1)}${isShort ? "Short" : ""}`,
        tag: "collecting",
        summary: isShort ? `Short form of /v1/${name}` : `Segment's API: ${summaries[name]}`,
        description: name === "batch" && !isShort ? description : "As `POST /v1/batch`.",
      },
      stream: { "application/json": bodyOf(name) },
      responses: { 200: json(Success) },
      async handler({ ctx }) {
        const isBatch = name === "batch";
        const body = bodies.get(ctx) ?? (await readCalls(ctx, isBatch, limits.write_body_bytes, limits));
        await collectCalls(dependencies, ctx, isBatch ? undefined : name, body);
        ctx.status = 200;
        ctx.set("Cache-Control", "no-store");
        ctx.body = { success: true };
        return undefined;
      },
    });

  const names: readonly RouteName[] = ["batch", ...callTypes];
  return names.flatMap((name) => [callRoute(name, false), callRoute(name, true)]);
}

type RouteName = "batch" | CallType;

const Success = Type.Object(
  { success: Type.Boolean({ description: "Always true, also when single calls were rejected." }) },
  { title: "SegmentApiAnswer", additionalProperties: false },
);

const further = { additionalProperties: Type.Unknown({ description: "As in Segment's documentation." }) };

const Call = Type.Object(
  {},
  { title: "SegmentApiCall", description: "A call as the SDKs of Segment send it.", ...further },
);

const Batch = Type.Object({ batch: Type.Array(Call, { minItems: 1 }) }, { title: "SegmentApiBatch", ...further });

const description =
  "Use it with the SDKs of Segment and RudderStack. The key is the user name of `Basic`, or `writeKey` in the body. Any content type is read as JSON. A call with a `messageId` is applied once, however often it is sent. Parts of a call that cannot be used are left out. They and rejected calls are counted in `/metrics` by code and do not change the response. Errors have `code` also at the top: 400 `not_json`, 401 `unauthenticated`, 413 `too_large`, 429 `too_many_requests`.";

const summaries: Record<RouteName, string> = {
  batch: "several calls",
  identify: "traits of a person",
  track: "an event",
  page: "a viewed page",
  screen: "a viewed screen",
  group: "the account of a person",
  alias: "another identity of a person",
};

const { value: email, defaultValue: anonymousId } = exampleNames;

const examples: Record<CallType, object> = {
  identify: { anonymousId, traits: { email, plan: "trial" } },
  track: { anonymousId, event: "Signed up", properties: { plan: "trial" } },
  page: { anonymousId, name: "Prices" },
  screen: { anonymousId, name: "Prices" },
  group: { anonymousId, groupId: "example-account", traits: { plan: "paid" } },
  alias: { userId: "example-user", previousId: anonymousId },
};

function bodyOf(name: RouteName): Body {
  if (name !== "batch") return { schema: Call, examples: { call: examples[name] } };
  const batch = Object.entries(examples).map(([type, call]) => ({ type, ...call }));
  return { schema: Batch, examples: { batch: { batch } } };
}
