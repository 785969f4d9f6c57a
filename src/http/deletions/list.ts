import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { type Deletion, isStuck, stageOf } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ports.js";
import { found, invalid, ServiceError } from "../../errors.js";
import { ListMeta, orderQuery, sortQuery } from "../core/list-page.js";
import { errorEnvelope, fetchPage, listQuery, oneOf, success, Time, TimeOrNull, timeText } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { compile } from "../core/validation.js";

export interface DeletionListParts {
  readonly ledger: Pick<Ledger, "find" | "list" | "count" | "wake">;
  readonly clock: Clock;
  /** See `WakeUp`. */
  hint(requestId: string): void;
}

/** 20 hex characters, a hyphen, epoch seconds. */
const requestIdShape = { pattern: "^[0-9a-f]{20}-[0-9]{1,12}$" };

export const RequestId = Type.String({ ...requestIdShape, description: "Identifier of the deletion request." });

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
    erased_at: TimeOrNull("When it had last erased; null when it has not yet."),
    verified_at: TimeOrNull("When it was last verified after all had erased; null when it was not yet."),
  },
  { title: "TargetTimes", additionalProperties: false },
);

/** One request, with its targets. */
export const DeletionState = Type.Object(
  { ...properties, targets: Type.Array(TargetTimes) },
  { title: "DeletionState", additionalProperties: false },
);

const states = ["open", "completed", "all"] as const;

const listingQuery = {
  state: oneOf(states, {
    default: "open",
    description: "Which requests are listed.",
    issue: { code: "unknown_state", message: `state is one of ${states.join(", ")}` },
  }),
  completed: Type.Optional(
    Type.String({
      enum: ["false"],
      deprecated: true,
      description: "Stands for `state=open`.",
      issue: { code: "not_listed", message: "completed is false: state=completed lists completed requests" },
    }),
  ),
  ...listQuery,
  sort: sortQuery([], "Both in the order of acceptance."),
  order: orderQuery("desc"),
  after: Type.Optional(
    Type.String({
      ...requestIdShape,
      description: "`meta.next` of the page before.",
      issue: { code: "invalid_id", message: "after is a request id" },
    }),
  ),
};

const isRequestId = compile(RequestId);

const stateAnswer = success("DeletionStateAnswer", DeletionState);

/** Which deletions there are, how far they are, and why one waits. Nothing here says whom a request is about. */
export function deletionListRoutes({ ledger, clock, hint }: DeletionListParts): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/deletion",
      scopes: ["entity:delete", "admin"],
      docs: {
        id: "listDeletions",
        tag: "deletion",
        summary: "Deletion requests",
        description: "The newest first unless `order` is `asc`. Nothing in the list says whom a request is about.",
      },
      query: listingQuery,
      responses: { 200: success("DeletionsAnswer", Type.Array(ListedDeletion), { meta: ListMeta }) },
      async handler({ query: { state, completed, order, after, limit } }) {
        if (completed !== undefined && state !== "open") {
          throw invalid("not_listed", "completed", `completed=false contradicts state=${state}`);
        }
        const { items, meta } = await fetchPage(
          { limit, ...(after === undefined ? {} : { after }) },
          async (last, most) =>
            (await ledger.list({ state, newestFirst: order === "desc", after: last, limit: most })).map((deletion) => ({
              ...deletion,
              id: deletion.requestId,
            })),
        );
        const now = clock();
        return {
          data: items.map((deletion) => listed(deletion, now)),
          meta: { ...meta, total: await ledger.count(state) },
        };
      },
    }),
    route({
      method: "GET",
      path: "/api/deletion/:request_id",
      scopes: ["entity:delete", "admin"],
      docs: { id: "readDeletion", tag: "deletion", summary: "A deletion request, and how far each target is" },
      params: { request_id: RequestId },
      responses: { 200: stateAnswer },
      handler: async ({ params }) => ({ data: stateOf(await foundDeletion(ledger, params.request_id), clock()) }),
    }),
    route({
      method: "POST",
      path: "/api/deletion/:request_id/retry",
      scopes: ["admin"],
      docs: {
        id: "retryDeletion",
        tag: "deletion",
        summary: "Try an open deletion again now",
        description: "It does not wait for its next try. 409 when it is completed.",
      },
      params: { request_id: RequestId },
      responses: { 200: stateAnswer, 409: errorEnvelope },
      async handler({ params }) {
        const deletion = await foundDeletion(ledger, params.request_id);
        if (deletion.completedAt !== undefined) throw new ServiceError("conflict", "The deletion is completed");
        await ledger.wake([deletion.requestId]);
        hint(deletion.requestId);
        return { data: stateOf(await foundDeletion(ledger, params.request_id), clock()) };
      },
    }),
  ];
}

/** The request of this id; throws `not-found` when there is none. */
export async function foundDeletion(ledger: Pick<Ledger, "find">, requestId: string): Promise<Deletion> {
  return found(isRequestId(requestId) ? await ledger.find(requestId) : undefined);
}

function listed(deletion: Deletion, now: number) {
  const { requestId, acceptedAt, cutOff, completedAt, attempts, problem = null, notBefore } = deletion;
  const waits = completedAt === undefined && (attempts > 0 || problem !== null);
  return {
    request_id: requestId,
    accepted_at: timeText(acceptedAt),
    cut_off: timeText(cutOff),
    completed_at: completedAt === undefined ? null : timeText(completedAt),
    stage: stageOf(deletion),
    attempts,
    stuck: completedAt === undefined && isStuck(deletion),
    problem,
    next_try_at: waits ? timeText(Math.max(now, notBefore)) : null,
  };
}

function stateOf(deletion: Deletion, now: number) {
  const targets = deletion.targets.map((name) => {
    const { erasedAt, verifiedAt } = deletion.times[name] ?? {};
    return { name, erased_at: textOrNull(erasedAt), verified_at: textOrNull(verifiedAt) };
  });
  return { ...listed(deletion, now), targets };
}

function textOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : timeText(ms);
}
