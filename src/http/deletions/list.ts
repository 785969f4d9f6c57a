import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { type Deletion, isStuck, remoteNames, stageOf } from "../../deletions/deletion.js";
import type {
  DownstreamTarget,
  DueNotifications,
  Ledger,
  OpenReason as OpenReasonCounts,
} from "../../deletions/ports.js";
import { found, ServiceError } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { errorEnvelope, fetchPage, listQuery, oneOf, orNull, success, Time, TimeOrNull } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { ListMeta, orderQuery, sortQuery } from "../lists/list-page.js";

export interface DeletionListDependencies {
  readonly ledger: Pick<Ledger, "find" | "list" | "count" | "openReasons" | "wake" | "wakeWaitingFor">;
  readonly clock: Clock;
  /** Intended maximum time from acceptance to completion of a request, ms. */
  readonly dueMs: number;
  /** Configured targets. */
  readonly targets: readonly DownstreamTarget[];
  readonly dueNotifications: Pick<DueNotifications, "send">;
}

/** 20 hex characters, a hyphen, epoch seconds. */
const requestIdShape = { pattern: "^[0-9a-f]{20}-[0-9]{1,12}$" };

export const RequestId = Type.String({ ...requestIdShape, description: "Identifier of the deletion request." });

/** `data` of the responses to DELETE of an entity and to its status. */
export const DeletionRequest = Type.Object(
  {
    request_id: RequestId,
    completed: Type.Boolean({ description: "Whether the profile is erased everywhere." }),
  },
  {
    title: "DeletionRequest",
    description:
      "A deletion request. `completed` covers the live profile and all downstream targets; once true, it stays true.",
    additionalProperties: false,
  },
);

/** Message of a response. Identical for every entity, whether it exists or not, and at every stage of its deletion. */
export const deletionReceived = "Delete request received";

const properties = {
  request_id: Type.String(requestIdShape),
  accepted_at: Time("Time of acceptance."),
  due_at: Time("Time by which it is to be completed: the setting `deletions.due` after its acceptance."),
  cut_off: Time("Messages of these identities that are not newer are dropped."),
  completed_at: TimeOrNull("Time of completion; null while open."),
  stage: Type.String({
    description: "Current stage: `profile`, the name of a downstream target, `verified`, `key` or `complete`.",
  }),
  attempts: Type.Integer({
    minimum: 0,
    description:
      "Failed attempts since a stage was last completed for the first time; once completed, of its notification.",
  }),
  stuck: Type.Boolean({ description: "Whether it keeps failing and needs an operator." }),
  problem: orNull(
    Type.String({
      description:
        "Cause of the last failure, such as `crm answered 500`, or `an earlier request is open` while it waits for one; otherwise null. Once completed, that of its notification.",
    }),
  ),
  next_try_at: TimeOrNull(
    "Time of the next retry, or of the next look for an earlier request; once completed, that of its notification; otherwise null.",
  ),
};

/** An item of the list of requests, without personal data. */
export const ListedDeletion = Type.Object(properties, { title: "ListedDeletion", additionalProperties: false });

const TargetTimes = Type.Object(
  {
    name: Type.String(),
    erased_at: TimeOrNull("Time of the target's last erasure; null if none yet."),
    verified_at: TimeOrNull("Time of the last verification after all targets were erased; null if none yet."),
  },
  { title: "TargetTimes", additionalProperties: false },
);

/** A request with its targets. */
export const DeletionState = Type.Object(
  { ...properties, targets: Type.Array(TargetTimes) },
  { title: "DeletionState", additionalProperties: false },
);

const Counted = Type.Integer({ minimum: 0 });

export const OpenReason = Type.Object(
  {
    problem: orNull(Type.String({ description: "Their `problem`; null for requests that have not failed." })),
    target: orNull(
      Type.String({
        description: "The remote target that their next run calls; null when it begins with our own stores.",
      }),
    ),
    requests: Counted,
    stuck: Counted,
    oldest_at: Time("Acceptance of the oldest."),
  },
  { title: "OpenReason", description: "Open requests with one reason.", additionalProperties: false },
);

/** Maximum reasons of a list. */
const MAX_REASONS = 100;

export const DeletionListMeta = Type.Object(
  {
    ...ListMeta.properties,
    targets: Type.Array(Type.String(), { description: "Names of the configured remote targets." }),
    reasons: Type.Optional(
      Type.Array(OpenReason, {
        description: `With \`reasons\`: all open requests by reason, first those with the most stuck ones; at most ${MAX_REASONS}.`,
      }),
    ),
  },
  { title: "DeletionListMeta" },
);

const targetText = "the remote target that their next run calls, or `notification`: the webhook.";

const RetryInput = Type.Object(
  { target: Type.String({ description: `Name of ${targetText}` }) },
  { title: "RetryInput", description: "Selection of the requests to retry.", additionalProperties: false },
);

const Retried = Type.Object(
  { retried: Type.Integer({ minimum: 0, description: "How many requests waited for a retry." }) },
  { title: "Retried", additionalProperties: false },
);

const states = ["open", "stuck", "completed", "all"] as const;

const listingQuery = {
  state: oneOf(states, {
    default: "open",
    description: "State of the listed requests; `stuck`: open ones that keep failing.",
    issue: { code: "unknown_state", message: `state must be one of ${states.join(", ")}` },
  }),
  target: Type.Optional(Type.String({ description: `Only requests with this name of ${targetText}` })),
  problem: Type.Optional(Type.String({ description: "Only requests with exactly this `problem`." })),
  reasons: Type.Optional(Type.Boolean({ description: "Whether `meta.reasons` is wanted." })),
  ...listQuery,
  sort: sortQuery([], "`id` and `name` both sort by order of acceptance."),
  order: orderQuery("desc"),
  after: Type.Optional(
    Type.String({
      ...requestIdShape,
      description: "`meta.next` of the previous page.",
      issue: { code: "invalid_id", message: "after must be a request id" },
    }),
  ),
};

const stateAnswer = success("DeletionStateAnswer", DeletionState);

/** Routes that list deletions and report their progress, without personal data. */
export function deletionListRoutes(dependencies: DeletionListDependencies): readonly Route[] {
  const { ledger, clock, dueMs, dueNotifications } = dependencies;
  return [
    route({
      method: "GET",
      path: "/api/deletion",
      scopes: ["entity:delete", "admin"],
      docs: {
        id: "listDeletions",
        tag: "deletion",
        summary: "List deletion requests",
        description:
          "Use it to find deletions that are open or stuck. Newest first by default. The list contains no personal data. Errors 400: `unknown_state`, `invalid_id`.",
      },
      query: listingQuery,
      responses: { 200: success("DeletionsAnswer", Type.Array(ListedDeletion), { meta: DeletionListMeta }) },
      async handler({ query: { state, target, problem, reasons, order, after, limit } }) {
        const { items, meta } = await fetchPage(
          { limit, ...(after === undefined ? {} : { after }) },
          async (last, most) =>
            (
              await ledger.list({ state, target, problem, newestFirst: order === "desc", after: last, limit: most })
            ).map((deletion) => ({ ...deletion, id: deletion.requestId })),
        );
        const now = clock();
        const total = await ledger.count(state, target, problem);
        const counted = reasons && { reasons: (await ledger.openReasons(MAX_REASONS)).map(reasonOf) };
        return {
          data: items.map((deletion) => listed(deletion, now, dueMs)),
          meta: { ...meta, total, targets: remoteNames(dependencies.targets), ...counted },
        };
      },
    }),
    route({
      method: "GET",
      path: "/api/deletion/:request_id",
      scopes: ["entity:delete", "admin"],
      docs: {
        id: "readDeletion",
        tag: "deletion",
        summary: "Read a deletion and its targets",
        description: "Use it to see the stage, the problem and each target of a deletion. Error 404: `not_found`.",
      },
      params: { request_id: RequestId },
      responses: { 200: stateAnswer },
      handler: async ({ params }) => ({
        data: stateOf(await foundDeletion(ledger, params.request_id), clock(), dueMs),
      }),
    }),
    route({
      method: "POST",
      path: "/api/deletion/retry",
      scopes: ["admin"],
      docs: {
        id: "retryDeletions",
        tag: "deletion",
        summary: "Retry all deletions that wait for a target",
        description:
          "Use it after mending a target, instead of waiting for the next retry of each deletion. The service begins within 2 s.",
      },
      body: { schema: RetryInput, examples: { target: { target: "crm" } } },
      responses: { 200: success("RetriedAnswer", Retried) },
      handler: async ({ body: { target } }) => ({ data: { retried: await ledger.wakeWaitingFor(target) } }),
    }),
    route({
      method: "POST",
      path: "/api/deletion/:request_id/retry",
      scopes: ["admin"],
      docs: {
        id: "retryDeletion",
        tag: "deletion",
        summary: "Retry an open deletion now",
        description:
          "Use it after mending a target, instead of waiting for the next retry. Errors: 404 `not_found`; 409 `conflict` when it is completed.",
      },
      params: { request_id: RequestId },
      responses: { 200: stateAnswer, 409: errorEnvelope },
      async handler({ params }) {
        const deletion = await foundDeletion(ledger, params.request_id);
        if (deletion.completedAt !== undefined) throw new ServiceError("conflict", "The deletion is completed");
        await ledger.wake([deletion.requestId]);
        dueNotifications.send(deletion.requestId);
        return { data: stateOf(await foundDeletion(ledger, params.request_id), clock(), dueMs) };
      },
    }),
  ];
}

/** Returns the request with this id; throws `not-found` when there is none. */
export async function foundDeletion(ledger: Pick<Ledger, "find">, requestId: string): Promise<Deletion> {
  return found(await ledger.find(requestId), "deletion request");
}

function reasonOf({ problem, target, requests, stuck, oldestAt }: OpenReasonCounts) {
  return { problem: problem ?? null, target: target ?? null, requests, stuck, oldest_at: timeText(oldestAt) };
}

function listed(deletion: Deletion, now: number, dueMs: number) {
  const { requestId, acceptedAt, completedAt, attempts, problem = null, notBefore } = deletion;
  const waits = attempts > 0 || problem !== null;
  return {
    request_id: requestId,
    accepted_at: timeText(acceptedAt),
    due_at: timeText(acceptedAt + dueMs),
    cut_off: timeText(acceptedAt),
    completed_at: completedAt === undefined ? null : timeText(completedAt),
    stage: stageOf(deletion),
    attempts,
    stuck: completedAt === undefined && isStuck(deletion),
    problem,
    next_try_at: waits ? timeText(Math.max(now, notBefore)) : null,
  };
}

function stateOf(deletion: Deletion, now: number, dueMs: number) {
  const targets = deletion.targets.map((name) => {
    const { erasedAt, verifiedAt } = deletion.times[name] ?? {};
    return { name, erased_at: textOrNull(erasedAt), verified_at: textOrNull(verifiedAt) };
  });
  return { ...listed(deletion, now, dueMs), targets };
}

function textOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : timeText(ms);
}
