import { Type } from "@sinclair/typebox";
import type { DeletionPreview } from "../../deletions/preview-deletion.js";
import type { Identity } from "../../entities/identity.js";
import type { Tables } from "../../entities/tables.js";
import { ServiceError } from "../../errors.js";
import { IdentityInput, identityExamples, identityInBody } from "../entities/named-entity.js";
import { success } from "../responses.js";
import { type Route, route } from "../route.js";

export interface PreviewParts {
  readonly tables: Tables;
  /** `limits.identity_bytes`. */
  readonly identityBytes: number;
  /** What a deletion would remove; undefined when the identity leads to no live profile. */
  preview(table: string, identity: Identity): Promise<DeletionPreview | undefined>;
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
export function previewRoute({ tables, identityBytes, preview }: PreviewParts): Route {
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
      const found = await preview(table.name, identity);
      if (found === undefined) throw new ServiceError("not-found", "Not Found");
      const { profiles, identities, messages, segments, targets } = found;
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
