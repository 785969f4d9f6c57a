import { Type } from "@sinclair/typebox";
import type { Deletion } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ports.js";
import type { Receipts } from "../../deletions/receipt.js";
import { ServiceError } from "../../errors.js";
import { done, errorEnvelope, timeText } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { foundDeletion, RequestId } from "./list.js";

export interface ReceiptRouteParts {
  readonly ledger: Pick<Ledger, "find">;
  readonly receipts: Receipts;
}

const text = (description: string) => Type.String({ description });

export const PublicKeys = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          kty: text("`OKP`."),
          crv: text("`Ed25519`."),
          alg: text("`EdDSA`."),
          use: text("`sig`."),
          kid: text("Named in the header of each receipt."),
          x: text("The key, base64url."),
        },
        { title: "PublicKey", additionalProperties: false },
      ),
    ),
  },
  { title: "PublicKeys", description: "A set of JSON Web Keys (RFC 7517).", additionalProperties: false },
);

/** Proofs of erasure, and the key that they are checked with. */
export function receiptRoutes({ ledger, receipts }: ReceiptRouteParts): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/deletion/:request_id/receipt",
      scopes: ["entity:delete"],
      docs: {
        id: "readDeletionReceipt",
        tag: "deletion",
        summary: "The receipt of a completed deletion",
        description:
          "A JWS (RFC 7515, compact, EdDSA) over when it was accepted and completed and each target verified (`verified_at`), without an identity. 409 while it is open.",
      },
      params: { request_id: RequestId },
      responses: { 200: done({ "application/jose": Type.String({ format: "binary" }) }), 409: errorEnvelope },
      async handler({ ctx, params }) {
        const deletion = await foundDeletion(ledger, params.request_id);
        if (deletion.completedAt === undefined) throw new ServiceError("conflict", "The deletion is not completed yet");
        ctx.set({ "Content-Type": "application/jose", "Cache-Control": "no-store" });
        ctx.body = Buffer.from(await receipts.sign(claimsOf(deletion, deletion.completedAt)));
        return undefined;
      },
    }),
    route({
      method: "GET",
      path: "/.well-known/jwks.json",
      scopes: "keyless",
      docs: { id: "readPublicKeys", tag: "deletion", summary: "The public key that receipts are checked with" },
      responses: { 200: done({ "application/json": PublicKeys }) },
      async handler({ ctx }) {
        const keys = { keys: [await receipts.publicKey()] };
        ctx.set({ "Content-Type": "application/json; charset=utf-8", "Cache-Control": "public, max-age=300" });
        ctx.body = Buffer.from(JSON.stringify(keys));
        return undefined;
      },
    }),
  ];
}

/** What a receipt says. It holds no identity. */
function claimsOf({ requestId, acceptedAt, cutOff, targets, times }: Deletion, completedAt: number) {
  return {
    request_id: requestId,
    accepted_at: timeText(acceptedAt),
    cut_off: timeText(cutOff),
    completed_at: timeText(completedAt),
    // A request is completed only after each of its targets was verified.
    targets: targets.map((name) => ({ name, verified_at: timeText(times[name]?.verifiedAt as number) })),
  };
}
