import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { type Deletion, isStuck, stageOf } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ports.js";
import type { Identity } from "../../entities/identity.js";
import type { Tables } from "../../entities/tables.js";
import { invalid, ServiceError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import { entityPath, namedIdentity } from "../entities/named-entity.js";
import { readFlag } from "../query.js";
import { errorEnvelope, listQuery, PageMeta, success } from "../responses.js";
import { type Route, route } from "../route.js";
import { compile } from "../validation.js";

export interface DeletionRouteParts {
  readonly ledger: Ledger;
  readonly tables: Tables;
  /** `limits.identity_bytes`. */
  readonly identityBytes: number;
  readonly clock: Clock;
  /** Accepts the deletion of the entity with this identity, and returns its request id. */
  requestDeletion(table: string, identity: Identity): Promise<string>;
  /** Says that a request can be run; may be lost. */
  hint(requestId: string): void;
  readonly failpoint: Failpoint;
}

/** 20 hex characters, a hyphen, epoch seconds. */
const requestIdShape = { pattern: "^[0-9a-f]{20}-[0-9]{1,12}$" };

const RequestId = Type.String({ ...requestIdShape, description: "Identifier of the deletion request." });

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
const OpenDeletion = Type.Object(
  {
    request_id: Type.String(requestIdShape),
    accepted_at: Type.String({ description: "When it was accepted, Unix ms." }),
    age_seconds: Type.Integer({ minimum: 0 }),
    stage: Type.String({
      description: "What is being done or waited for: `profile`, the name of a downstream target, `verified` or `key`.",
    }),
    attempts: Type.Integer({ minimum: 0, description: "Failed attempts since the last progress." }),
    stuck: Type.Boolean({ description: "Whether it failed so often that an operator should look." }),
  },
  { title: "OpenDeletion", additionalProperties: false },
);

/** The same for every entity, whether or not it exists, and however far its deletion is. */
const message = "Delete request received";

const deletionAnswer = success("DeletionAnswer", DeletionRequest);

const afterRequest = Type.Optional(
  Type.String({
    ...requestIdShape,
    description: "`meta.next` of the page before.",
    issue: { code: "invalid_id", message: "after is a request id" },
  }),
);

const isRequestId = compile(RequestId);

/** Deletion of entities. */
export function deletionRoutes(parts: DeletionRouteParts): readonly Route[] {
  const { ledger, tables, identityBytes, clock, requestDeletion, hint, failpoint } = parts;
  return [
    route({
      method: "GET",
      path: "/api/entity/deletestatus/:request_id",
      scopes: ["entity:delete", "entity:read"],
      docs: { id: "readDeletionStatus", tag: "deletion", summary: "How far a deletion is" },
      params: { request_id: RequestId },
      responses: { 200: deletionAnswer },
      async handler({ params: { request_id } }) {
        const deletion = isRequestId(request_id) ? await ledger.find(request_id) : undefined;
        if (deletion === undefined) throw new ServiceError("not-found", "Not Found");
        const completed = deletion.completedAt !== undefined;
        return { data: { request_id: deletion.requestId, completed }, message };
      },
    }),
    route({
      method: "DELETE",
      path: "/api/entity/:table/:fieldname/:fieldval",
      scopes: ["entity:delete"],
      docs: {
        id: "eraseEntity",
        tag: "deletion",
        summary: "Erase an entity for good",
        description:
          "Recorded durably before the answer; from then on no read returns the profile by any of its identities. The answer is the same whether or not there is such an entity.",
      },
      params: entityPath,
      responses: { 200: deletionAnswer, 507: errorEnvelope },
      async handler({ ctx, params }) {
        const { table, identity } = namedIdentity(params, tables, identityBytes);
        const requestId = await requestDeletion(table.name, identity);
        ctx.res.once("close", () => {
          failpoint("K3");
          hint(requestId);
          failpoint("K4");
        });
        return { data: { request_id: requestId, completed: false }, message };
      },
    }),
    route({
      method: "GET",
      path: "/api/deletion",
      scopes: ["admin"],
      docs: {
        id: "listOpenDeletions",
        tag: "deletion",
        summary: "Open deletion requests",
        description: "In order of acceptance. Nothing in the list says whom a request is about.",
      },
      query: {
        completed: Type.Optional(Type.String({ enum: ["false"], description: "Open requests alone are listed." })),
        ...listQuery,
        after: afterRequest,
      },
      responses: { 200: success("OpenDeletionsAnswer", Type.Array(OpenDeletion), { meta: PageMeta }) },
      async handler({ query: { completed, after, limit } }) {
        if (completed !== undefined && readFlag(completed, "completed")) {
          throw invalid("not_listed", "completed", "completed is false: open requests alone are listed");
        }
        const open = await ledger.open({ limit, ...(after === undefined ? {} : { after }) });
        const now = clock();
        const next = open.length === limit ? (open.at(-1)?.requestId ?? null) : null;
        return { data: open.map((deletion) => listed(deletion, now)), meta: { next } };
      },
    }),
  ];
}

function listed(deletion: Deletion, now: number) {
  return {
    request_id: deletion.requestId,
    accepted_at: String(Math.floor(deletion.acceptedAt)),
    age_seconds: Math.max(0, Math.floor((now - deletion.acceptedAt) / 1000)),
    stage: stageOf(deletion),
    attempts: deletion.attempts,
    stuck: isStuck(deletion),
  };
}
