import { Type } from "@sinclair/typebox";
import { Time, TimeOrNull } from "../time.js";

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

const properties = {
  request_id: Type.String(requestIdShape),
  accepted_at: Time("When it was accepted."),
  cut_off: Time("Messages that are not newer are dropped."),
  completed_at: TimeOrNull("When it was completed; null while it is open."),
  stage: Type.String({
    description:
      "What is being done or waited for: `profile`, the name of a downstream target, `verified`, `key`; or `complete`.",
  }),
  attempts: Type.Integer({ minimum: 0, description: "Failed attempts since the last progress." }),
  stuck: Type.Boolean({ description: "Whether it failed so often that an operator should look at it." }),
  problem: Type.Unsafe<string | null>({
    type: ["string", "null"],
    description: "What the last attempt failed at and why, such as `crm answered 500`; null when nothing failed.",
  }),
  next_try_at: TimeOrNull("When it is tried again; null when it is completed, or no attempt has failed."),
};

/** An item of the list of requests. Nothing in it says whom it is about. */
export const ListedDeletion = Type.Object(properties, { title: "ListedDeletion", additionalProperties: false });

const TargetTimes = Type.Object(
  {
    name: Type.String(),
    erased_at: TimeOrNull(
      "When it had last erased; null when it has not yet, or an earlier version did not keep when.",
    ),
    verified_at: TimeOrNull(
      "When it was last verified after all had erased; null when it was not yet, or an earlier version did not keep when.",
    ),
  },
  { title: "TargetTimes", additionalProperties: false },
);

/** One request, with its targets. */
export const DeletionState = Type.Object(
  { ...properties, targets: Type.Array(TargetTimes) },
  { title: "DeletionState", additionalProperties: false },
);
