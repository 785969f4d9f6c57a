/** `request_id` of a deletion: 20 hex characters, a hyphen, epoch seconds. */
export const requestIdPattern = "^[0-9a-f]{20}-[0-9]{1,12}$";

/** `data` of the answers to DELETE of an entity and to its status. */
export const deletionRecordSchema = {
  title: "DeletionRequest",
  type: "object",
  description:
    "A deletion request. `completed` covers the live profile and every place downstream, and never goes back.",
  properties: {
    request_id: { type: "string", pattern: requestIdPattern, description: "Identifier of the deletion request." },
    completed: { type: "boolean", description: "Whether nothing of the profile is left anywhere." },
  },
  required: ["request_id", "completed"],
  additionalProperties: false,
} as const;

/** An item of the list of open requests. Nothing in it says whom it is about. */
export const openDeletionSchema = {
  title: "OpenDeletion",
  type: "object",
  properties: {
    request_id: { type: "string", pattern: requestIdPattern },
    accepted_at: { type: "string", description: "When it was accepted, Unix ms." },
    age_seconds: { type: "integer", minimum: 0 },
    stage: {
      type: "string",
      description: "What is being done or waited for: `profile`, the name of a downstream target, `verified` or `key`.",
    },
    attempts: { type: "integer", minimum: 0, description: "Failed attempts since the last progress." },
    stuck: { type: "boolean", description: "Whether it failed so often that somebody should look." },
  },
  required: ["request_id", "accepted_at", "age_seconds", "stage", "attempts", "stuck"],
  additionalProperties: false,
} as const;
