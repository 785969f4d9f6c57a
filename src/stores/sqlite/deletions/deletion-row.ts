import type { Deletion } from "../../../deletions/deletion.js";

/** A row of `deletionRows`. */
export interface DeletionRow {
  readonly sequence: number;
  /** The request as it was accepted, JSON. The columns below have its state. */
  readonly document: string;
  readonly identities: Uint8Array;
  /** Null without a list of identities. */
  readonly identities_key: Uint8Array | null;
  readonly done: string;
  readonly times: string;
  readonly attempts: number;
  readonly problem: string | null;
  readonly not_before: number;
  readonly completed_at: number | null;
  readonly notify: number;
}

/** Requests, each with the key of its identities. */
export const deletionRows =
  "(SELECT deletion.*, deletion_key.key AS identities_key FROM deletion LEFT JOIN deletion_key ON deletion_key.id = key_id)";

export function deletionOf(row: DeletionRow): Deletion {
  return {
    ...(JSON.parse(row.document) as Deletion),
    encryptedIdentities: row.identities_key?.some((byte) => byte !== 0)
      ? { key: row.identities_key, bytes: row.identities }
      : undefined,
    done: JSON.parse(row.done) as string[],
    times: JSON.parse(row.times) as Deletion["times"],
    attempts: row.attempts,
    problem: row.problem ?? undefined,
    notBefore: row.not_before,
    completedAt: row.completed_at ?? undefined,
    notify: row.notify === 1,
  };
}
