import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { type AcceptDependencies, acceptDeletion } from "../../deletions/accept.js";
import type { DownstreamTarget } from "../../deletions/ports.js";
import { type PreviewDependencies, previewDeletion } from "../../deletions/preview.js";
import { checkedIdentity } from "../../entities/profile/checked-identity.js";
import { found } from "../../errors.js";
import { errorEnvelope, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { onResponseClosed } from "../edge/connections.js";
import { entityPath, IdentityInput, identityExamples, namedIdentity } from "../entities/named-entity.js";
import {
  type DeletionListDependencies,
  DeletionRequest,
  deletionListRoutes,
  deletionReceived,
  foundDeletion,
  RequestId,
} from "./list.js";
import { type ManyDeletionsDependencies, manyDeletionsRoute } from "./many.js";
import { type ReceiptRouteDependencies, receiptRoutes } from "./receipts.js";
import { tablesRoute } from "./tables.js";

export interface DeletionRouteDependencies
  extends DeletionListDependencies,
    ReceiptRouteDependencies,
    ManyDeletionsDependencies,
    AcceptDependencies,
    PreviewDependencies {
  readonly ledger: DeletionListDependencies["ledger"] & ManyDeletionsDependencies["ledger"];
  readonly clock: Clock;
  readonly targets: readonly DownstreamTarget[];
}

const deletionAnswer = success("DeletionAnswer", DeletionRequest);

/** Routes that delete entities. */
export function deletionRoutes(dependencies: DeletionRouteDependencies): readonly Route[] {
  const { ledger, dueNotifications, tables, failpoint } = dependencies;
  return [
    route({
      method: "GET",
      path: "/api/entity/deletestatus/:request_id",
      scopes: ["entity:delete", "entity:read"],
      within: { fields: () => true, by: () => true },
      docs: {
        id: "readDeletionStatus",
        tag: "deletion",
        summary: "Read whether a deletion is completed",
        description:
          "Use it to wait for the end of a deletion. `GET /api/deletion/{request_id}` also returns its stage and problem. Error 404: `not_found`.",
      },
      params: { request_id: RequestId },
      responses: { 200: deletionAnswer },
      async handler({ params: { request_id } }) {
        const deletion = await foundDeletion(ledger, request_id);
        const completed = deletion.completedAt !== undefined;
        return { data: { request_id: deletion.requestId, completed }, message: deletionReceived };
      },
    }),
    route({
      method: "DELETE",
      path: "/api/entity/:table/:fieldname/:fieldval",
      scopes: ["entity:delete"],
      docs: {
        id: "eraseEntity",
        tag: "deletion",
        summary: "Delete an entity permanently",
        description:
          "Use it to delete a person. Once it is answered, the request is durable and no read returns the profile by any of its identities; the data is erased in the background. The response is the same whether or not the entity exists. Errors: 400 `not_an_identity`; 404 `unknown_table`; 503 `unavailable`; 507 `out_of_space`.",
      },
      params: entityPath,
      responses: { 200: deletionAnswer, 507: errorEnvelope },
      async handler({ ctx, params }) {
        const { table, identity } = namedIdentity(params, tables);
        const { memory, deadline } = ctx.state;
        const requestId = await acceptDeletion(dependencies, table.name, identity, memory, deadline.signal);
        onResponseClosed(ctx.res, () => {
          failpoint("deletion-answered");
          dueNotifications.send(requestId);
          failpoint("deletion-notified");
        });
        return { data: { request_id: requestId, completed: false }, message: deletionReceived };
      },
    }),
    manyDeletionsRoute(dependencies),
    tablesRoute(dependencies.tables),
    ...deletionListRoutes(dependencies),
    ...receiptRoutes(dependencies),
    previewRoute(dependencies),
  ];
}

const Count = Type.Integer({ minimum: 0 });
const counts = (title: string, description: string) => Type.Record(Type.String(), Count, { title, description });

export const Preview = Type.Object(
  {
    profiles: Type.Integer({ minimum: 1, description: "Live profiles." }),
    identities: counts("IdentityCounts", "Number of identities by field."),
    messages: counts("MessageCounts", "Number of messages by stream."),
    segments: Type.Integer({ minimum: 0, description: "Number of segments with these profiles." }),
    targets: Type.Array(Type.String(), { description: "Names of the targets besides the profile." }),
  },
  { title: "DeletionPreview", additionalProperties: false },
);

/** Route that previews a deletion. */
function previewRoute(dependencies: DeletionRouteDependencies): Route {
  const { tables } = dependencies;
  return route({
    method: "POST",
    path: "/api/deletion/preview",
    scopes: ["entity:delete"],
    alsoScope: "entity:read",
    docs: {
      id: "previewDeletion",
      tag: "deletion",
      summary: "Preview a deletion",
      description:
        "Use it before a deletion to see how much it would erase, in counts. Changes nothing. Errors: 400 `unknown_table`, `not_an_identity`; 404 `not_found`.",
    },
    body: { schema: IdentityInput, examples: identityExamples },
    responses: { 200: success("DeletionPreviewAnswer", Preview) },
    async handler({ ctx, body }) {
      const { table, identity } = checkedIdentity(body, tables);
      return { data: found(await previewDeletion(dependencies, table.name, identity, ctx.state.memory), "entity") };
    },
  });
}
