import { Type } from "@sinclair/typebox";
import type { CatalogueStore } from "../../catalogue/ports.js";
import type { Clock } from "../../clock.js";
import type { Facts } from "../../facts.js";
import { timeText } from "../../formats/instant.js";
import { alertFields, ENDED_FOR_MS, type Alert as StoredAlert, storedAlerts } from "../../metrics/alerts/alert.js";
import { conditions } from "../../metrics/alerts/rule.js";
import { dimensions } from "../../metrics/dimensions.js";
import { ALERTS } from "../../metrics/ports.js";
import { compareBytes } from "../../text.js";
import type { WebhookDocs } from "../core/openapi.js";
import { listQuery, oneOf, orNull, success, Time, TimeOrNull } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { idPage, ListMeta, orderQuery } from "../lists/list-page.js";

const fields = {
  id: Type.String({ description: "Unique for the rule, the series and the slot with which it began to fire." }),
  name: Type.String({ description: "Name of the rule." }),
  dimension: oneOf(dimensions.map(({ name }) => name)),
  dimension_id: Type.String(),
  dimension_type: Type.String(),
  condition: oneOf(conditions),
  value: orNull(Type.Number({ description: "`value` of the rule; null for `silent_for`." })),
  over: Type.String({ description: "`over` of the rule." }),
  since: Time("End of the slot with which it began to fire."),
  measured: orNull(Type.Number({ description: "What was compared with `value` then; null for `silent_for`." })),
};

const states = ["firing", "ended", "all"] as const;

const ended = TimeOrNull("End of the slot with which it ended; null while it is firing.");

export const Alert = Type.Object(
  {
    ...fields,
    dimension_name: orNull(
      Type.String({ description: "Name of the segment or experience in the catalogue; null without one." }),
    ),
    resolved_at: ended,
    notified: Type.Boolean({ description: "Whether no notification is pending; also true without a webhook." }),
  },
  { title: "Alert", additionalProperties: false },
);

export interface AlertRouteDependencies {
  readonly facts: Pick<Facts, "text">;
  readonly catalogue: Pick<CatalogueStore, "segmentsById" | "experiencesById">;
  readonly clock: Clock;
}

/** Lists the alerts that are firing, or have ended. */
export function alertRoutes({ facts, catalogue, clock }: AlertRouteDependencies): readonly Route[] {
  /** Returns a function that names the segments and experiences of alerts. */
  async function namesOf(alerts: readonly StoredAlert[]) {
    const ids = (named: string) =>
      alerts.filter(({ dimension }) => dimension === named).map(({ dimensionId }) => dimensionId);
    const [segments, experiences] = await Promise.all([
      catalogue.segmentsById(ids("segment")),
      catalogue.experiencesById(ids("experience")),
    ]);
    return ({ dimension, dimensionId }: StoredAlert) =>
      ({ segment: segments, experience: experiences })[dimension]?.get(dimensionId)?.name ?? null;
  }

  return [
    route({
      method: "GET",
      path: "/api/alert",
      scopes: ["metric:read"],
      docs: {
        id: "listAlerts",
        tag: "metrics",
        summary: "List alerts",
        description:
          "Use it to show which rules of the setting `alerts` are firing, and since when, or which ended in the last 30 days (at most 2,000): the oldest first, one entry for each series. Errors 400: `invalid_limit`, `unknown_state`.",
      },
      query: {
        ...listQuery,
        state: oneOf(states, {
          default: "firing",
          description: "State of the listed alerts.",
          issue: { code: "unknown_state", message: `state must be one of ${states.join(", ")}` },
        }),
        order: orderQuery("asc"),
      },
      responses: { 200: success("AlertsAnswer", Type.Array(Alert), { meta: ListMeta }) },
      async handler({ query: { state, ...page } }) {
        const now = clock();
        const isListed = ({ resolvedAt }: StoredAlert) =>
          resolvedAt === undefined ? state !== "ended" : state !== "firing" && now - resolvedAt < ENDED_FOR_MS;
        const alerts = storedAlerts(await facts.text(ALERTS))
          .alerts.filter(isListed)
          .sort((a, b) => compareBytes(a.id, b.id));
        const { items, meta } = await idPage([alerts], page);
        const nameOf = await namesOf(items);
        const data = items.map((alert) => ({
          ...alertFields(alert),
          dimension_name: nameOf(alert),
          resolved_at: alert.resolvedAt === undefined ? null : timeText(alert.resolvedAt),
          notified: alert.pending.length === 0,
        }));
        return { data, meta };
      },
    }),
  ];
}

/** Documents the notification of an alert to `webhook`. */
export const alertWebhook: WebhookDocs = {
  docs: {
    id: "notifyAlert",
    tag: "metrics",
    summary: "Receive the notification of an alert",
    description:
      "The service posts this to the URL of the setting `webhook` when an alert begins to fire, and when it ends. It can arrive more than once: `id` and `state` identify it. The end of an alert arrives after its beginning.",
  },
  body: {
    schema: Type.Object(
      {
        type: Type.String({ const: "alert" }),
        state: oneOf(["firing", "resolved"]),
        ...fields,
        resolved_at: TimeOrNull("End of the slot with which it ended; null when it begins."),
        receipt: Type.String({ description: "A JWS over the other fields, with the key of receipts." }),
      },
      { additionalProperties: false },
    ),
    examples: {
      notification: {
        type: "alert",
        state: "firing",
        id: "1767225600-0123456789abcdef0123",
        name: "no orders",
        dimension: "stream",
        dimension_id: "orders",
        dimension_type: "size",
        condition: "silent_for",
        value: null,
        over: "2h",
        since: "2026-01-01T00:00:00.000Z",
        measured: null,
        resolved_at: null,
        receipt: "eyJhbGciOiJFZERTQSJ9.eyJpZCI6IuKApiJ9.c2lnbmF0dXJl",
      },
    },
  },
  token: "The token of the setting `webhook`.",
  taken: "The notification is delivered.",
  notTaken:
    "The notification is sent again, after at most 15 minutes: also after a redirect, a broken connection, or without an answer within 10 s.",
};
