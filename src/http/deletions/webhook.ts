import { Type } from "@sinclair/typebox";
import type { WebhookDocs } from "../core/openapi.js";
import { Time } from "../core/responses.js";
import { RequestId } from "./list.js";

/** Body of the notification of a completed deletion. */
const DeletionNotification = Type.Object(
  {
    request_id: RequestId,
    completed_at: Time("Time of completion."),
    receipt: Type.String({
      description: "The receipt, as `GET /api/deletion/{request_id}/receipt` returns it: a JWS without any identity.",
    }),
  },
  { additionalProperties: false },
);

/** Documents the call to `webhook`. */
export const deletionWebhook: WebhookDocs = {
  docs: {
    id: "notifyCompletion",
    tag: "deletion",
    summary: "Receive the notification of a completed deletion",
    description:
      "The service posts this to the URL of the setting `webhook` when a deletion is completed that was accepted since the setting exists. It can arrive more than once, and in any order.",
  },
  body: {
    schema: DeletionNotification,
    examples: {
      notification: {
        request_id: "0123456789abcdef0123-1767225600",
        completed_at: "2026-01-01T00:00:01.000Z",
        receipt: "eyJhbGciOiJFZERTQSJ9.eyJyZXF1ZXN0X2lkIjoi4oCmIn0.c2lnbmF0dXJl",
      },
    },
  },
  token: "The token of the setting `webhook`.",
  taken: "The notification is delivered.",
  notTaken:
    "The notification is sent again, after at most 15 minutes: also after a redirect, a broken connection, or without an answer within 10 s.",
};
