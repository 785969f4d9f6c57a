import { Type } from "@sinclair/typebox";
import type { DeletionPreview } from "../../deletions/preview.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import type { Identity } from "../../entities/profile/identity.js";
import { found } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import { errorEnvelope, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { onResponseClosed } from "../edge/connections.js";
import {
  entityPath,
  IdentityInput,
  identityExamples,
  identityInBody,
  namedIdentity,
} from "../entities/named-entity.js";
import { type DeletionListParts, deletionListRoutes, foundDeletion, RequestId } from "./list.js";
import { type ReceiptRouteParts, receiptRoutes } from "./receipts.js";

export interface DeletionRouteParts extends DeletionListParts, ReceiptRouteParts {
  readonly ledger: DeletionListParts["ledger"];
  readonly tables: Tables;
  /** `limits.identity_bytes`. */
  readonly identityBytes: number;
  /** Accepts the deletion of the entity with this identity, and returns its request id. */
  acceptDeletion(table: string, identity: Identity, late: AbortSignal): Promise<string>;
  /** What a deletion would remove; undefined when the identity leads to no live profile. */
  preview(table: string, identity: Identity): Promise<DeletionPreview | undefined>;
  readonly failpoint: Failpoint;
}

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

/** The same for every entity, whether or not it exists, and however far its deletion is. */
const message = "Delete request received";

const deletionAnswer = success("DeletionAnswer", DeletionRequest);

/** Deletion of entities. */
export function deletionRoutes(parts: DeletionRouteParts): readonly Route[] {
  const { ledger, tables, identityBytes, acceptDeletion, hint, failpoint } = parts;
  return [
    route({
      method: "GET",
      path: "/api/entity/deletestatus/:request_id",
      scopes: ["entity:delete", "entity:read"],
      docs: { id: "readDeletionStatus", tag: "deletion", summary: "How far a deletion is" },
      params: { request_id: RequestId },
      responses: { 200: deletionAnswer },
      async handler({ params: { request_id } }) {
        const deletion = await foundDeletion(ledger, request_id);
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
        const requestId = await acceptDeletion(table.name, identity, ctx.state.deadline.signal);
        onResponseClosed(ctx.res, () => {
          failpoint("deletion-answered");
          hint(requestId);
          failpoint("deletion-hinted");
        });
        return { data: { request_id: requestId, completed: false }, message };
      },
    }),
    ...deletionListRoutes(parts),
    ...receiptRoutes(parts),
    previewRoute(parts),
  ];
}

const Count = Type.Integer({ minimum: 0 });
const counts = (title: string, description: string) => Type.Record(Type.String(), Count, { title, description });

const Preview = Type.Object(
  {
    profiles: Type.Integer({ minimum: 1, description: "Live profiles." }),
    identities: counts("IdentityCounts", "By identity field."),
    messages: counts("MessageCounts", "By stream."),
    segments: Type.Integer({ minimum: 0, description: "Segments that they belong to." }),
    targets: Type.Array(Type.String(), { description: "What is erased besides the profile, by name." }),
  },
  { title: "DeletionPreview", additionalProperties: false },
);

/** What an erasure would remove. */
function previewRoute({ tables, identityBytes, preview }: DeletionRouteParts): Route {
  return route({
    method: "POST",
    path: "/api/deletion/preview",
    scopes: ["entity:delete"],
    alsoScope: "entity:read",
    docs: {
      id: "previewDeletion",
      tag: "deletion",
      summary: "What an erasure would remove, in counts",
      description: "Changes nothing.",
    },
    body: { schema: IdentityInput, examples: identityExamples },
    responses: { 200: success("DeletionPreviewAnswer", Preview) },
    async handler({ body }) {
      const { table, identity } = identityInBody(body, tables, identityBytes);
      const counted = found(await preview(table.name, identity));
      const { profiles, identities, messages, segments, targets } = counted;
      return {
        data: {
          profiles,
          identities: Object.fromEntries(identities),
          messages: Object.fromEntries(messages),
          segments,
          targets: [...targets],
        },
      };
    },
  });
}
