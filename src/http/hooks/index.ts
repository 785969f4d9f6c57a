import { type Static, Type } from "@sinclair/typebox";
import type { WebhookDocs } from "../core/openapi.js";
import { oneOf, success, Time, TimeOrNull } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export const HookStatus = Type.Object(
  {
    name: Type.String(),
    segments: Type.Array(Type.String(), { description: "Ids of segments; `*` is all." }),
    waiting: Type.Integer({ description: "Changes that it has not taken." }),
    lag_seconds: Type.Number({ description: "Age of the oldest of them; 0 without one." }),
    last_answer_at: TimeOrNull("When it last took a request; null before the first."),
    problem: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "Failure of the last request, such as `crm answered 500`; null after one that was taken.",
    }),
  },
  { title: "HookStatus", additionalProperties: false },
);

/** Lists the systems that are notified of who joined and left segments. */
export function hookRoutes({ read }: { read(): Promise<Static<typeof HookStatus>[]> }): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/hook",
      scopes: ["metric:read"],
      docs: {
        id: "listHooks",
        tag: "operations",
        summary: "List hooks",
        description:
          "Use it to see whether the systems of the setting `hooks` take their events: in the order of the setting, without addresses and tokens.",
      },
      responses: { 200: success("HooksAnswer", Type.Array(HookStatus)) },
      handler: async () => ({ data: await read() }),
    }),
  ];
}

const HookEvent = Type.Object(
  {
    id: Type.String({ description: "The same in each request with this change." }),
    segment: Type.String(),
    change: oneOf(["joined", "left", "deleted", "reset"]),
    at: Time("Time of the change."),
    table: Type.Optional(
      Type.String({ description: "Table of the person; absent when the event is about a segment." }),
    ),
    identities: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: "Values by field; absent when the event is about a segment.",
      }),
    ),
    attributes: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "The attributes in `fields` of the setting." }),
    ),
  },
  { additionalProperties: false },
);

/** Documents the call to a hook. */
export const hookWebhook: WebhookDocs = {
  docs: {
    id: "notifyHook",
    tag: "operations",
    summary: "Receive who joined and left segments",
    description:
      "The service posts this to the URL of each entry of the setting `hooks`. The header `X-Signature` is a JWS over `hook`, `id`, `sent_at` and `sha256`, the hash of the body in hex, with the key of receipts. An event can arrive more than once, with the same `id`. Events about one person in one segment arrive in order.",
  },
  body: {
    schema: Type.Object(
      {
        hook: Type.String({ description: "`name` of the setting." }),
        id: Type.String({ description: "Unique for the request." }),
        sent_at: Time("Time of the request."),
        events: Type.Array(HookEvent, { maxItems: 500, description: "The oldest first." }),
      },
      { additionalProperties: false },
    ),
    examples: {
      events: {
        hook: "crm",
        id: "5a1c6f0e9b7d4c2fae31d0c4b8e6f712",
        sent_at: "2026-01-01T00:00:01.000Z",
        events: [
          {
            id: "0d8f7c5be1a94c6b9d2e4f60718293a4",
            segment: "vip",
            change: "joined",
            at: "2026-01-01T00:00:00.000Z",
            table: "user",
            identities: { user_id: ["7"], email: ["ada@example.com"] },
            attributes: { plan: "pro" },
          },
        ],
      },
    },
  },
  token: "The token of the entry of the setting `hooks`.",
  taken: "All events are taken.",
  notTaken:
    "The events are sent again, after at most 15 minutes: also after a redirect, a broken connection, or without an answer within 10 s.",
};
