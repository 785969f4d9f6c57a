import { Type } from "@sinclair/typebox";

/** 20 hex characters, a hyphen, epoch seconds. */
export const requestIdShape = { pattern: "^[0-9a-f]{20}-[0-9]{1,12}$" };

export const RequestId = Type.String({ ...requestIdShape, description: "Identifier of the deletion request." });

/** `data` of the answers to DELETE of an entity and to its status. */
export const DeletionRequest = Type.Object(
  {
    request_id: RequestId,
    completed: Type.Boolean({ description: "Whether nothing of the profile is left anywhere." }),
  },
  {
    title: "DeletionRequest",
    description:
      "A deletion request. `completed` covers the live profile and every place downstream, and never goes back.",
    additionalProperties: false,
  },
);

/** An item of the list of open requests. Nothing in it says whom it is about. */
export const OpenDeletion = Type.Object(
  {
    request_id: Type.String(requestIdShape),
    accepted_at: Type.String({ description: "When it was accepted, Unix ms." }),
    age_seconds: Type.Integer({ minimum: 0 }),
    stage: Type.String({
      description: "What is being done or waited for: `profile`, the name of a downstream target, `verified` or `key`.",
    }),
    attempts: Type.Integer({ minimum: 0, description: "Failed attempts since the last progress." }),
    stuck: Type.Boolean({ description: "Whether it failed so often that somebody should look." }),
  },
  { title: "OpenDeletion", additionalProperties: false },
);
