import { Type } from "@sinclair/typebox";
import { isCompleted } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ports.js";
import { type Receipts, receiptClaims } from "../../deletions/receipt.js";
import { ServiceError } from "../../errors.js";
import { done, errorEnvelope } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { foundDeletion, RequestId } from "./list.js";

export interface ReceiptRouteDependencies {
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
          kid: text("Key id in the header of each receipt."),
          x: text("Public key, base64url."),
        },
        { title: "PublicKey", additionalProperties: false },
      ),
    ),
  },
  { title: "PublicKeys", description: "A set of JSON Web Keys (RFC 7517).", additionalProperties: false },
);

/** Routes for receipts of deletions and the key that verifies them. */
export function receiptRoutes({ ledger, receipts }: ReceiptRouteDependencies): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/deletion/:request_id/receipt",
      scopes: ["entity:delete"],
      docs: {
        id: "readDeletionReceipt",
        tag: "deletion",
        summary: "Read the receipt of a deletion",
        description:
          "Use it to prove a deletion to somebody else. The receipt is a JWS (RFC 7515, compact, EdDSA) over the times of acceptance and completion and of each target's verification (`verified_at`), without any identity. Errors: 404 `not_found`; 409 `conflict` while it is open.",
      },
      params: { request_id: RequestId },
      responses: { 200: done({ "application/jose": Type.String({ format: "binary" }) }), 409: errorEnvelope },
      async handler({ ctx, params }) {
        const deletion = await foundDeletion(ledger, params.request_id);
        if (!isCompleted(deletion)) throw new ServiceError("conflict", "The deletion is not completed yet");
        ctx.set({ "Content-Type": "application/jose", "Cache-Control": "no-store" });
        ctx.body = Buffer.from(await receipts.sign(receiptClaims(deletion)));
        return undefined;
      },
    }),
    route({
      method: "GET",
      path: "/.well-known/jwks.json",
      scopes: "keyless",
      docs: {
        id: "readPublicKeys",
        tag: "deletion",
        summary: "Read the public key of receipts",
        description: "Use it to verify the signature of a receipt.",
      },
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
