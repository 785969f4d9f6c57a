import type { Identity } from "../../entities/identity.js";
import type { Failpoint } from "../../failpoint.js";
import { entityPath, namedIdentity } from "../entities/named-entity.js";
import { errorEnvelope, success } from "../responses.js";
import { type Route, route } from "../route.js";
import { type DeletionListParts, deletionListRoutes, foundDeletion } from "./list.js";
import { type PreviewParts, previewRoute } from "./preview.js";
import { type ReceiptRouteParts, receiptRoutes } from "./receipts.js";
import { DeletionRequest, RequestId } from "./schemas.js";

export interface DeletionRouteParts extends DeletionListParts, PreviewParts, ReceiptRouteParts {
  readonly ledger: DeletionListParts["ledger"];
  /** Accepts the deletion of the entity with this identity, and returns its request id. */
  requestDeletion(table: string, identity: Identity): Promise<string>;
  readonly failpoint: Failpoint;
}

/** The same for every entity, whether or not it exists, and however far its deletion is. */
const message = "Delete request received";

const deletionAnswer = success("DeletionAnswer", DeletionRequest);

/** Deletion of entities. */
export function deletionRoutes(parts: DeletionRouteParts): readonly Route[] {
  const { ledger, tables, identityBytes, requestDeletion, hint, failpoint } = parts;
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
        const requestId = await requestDeletion(table.name, identity);
        ctx.res.once("close", () => {
          failpoint("K3");
          hint(requestId);
          failpoint("K4");
        });
        return { data: { request_id: requestId, completed: false }, message };
      },
    }),
    ...deletionListRoutes(parts),
    ...receiptRoutes(parts),
    previewRoute(parts),
  ];
}
