import type { Deletion, WaitingDeletion } from "../../../deletions/deletion.js";

/** A row of `deletionRows`. */
export interface DeletionRow {
  sequence: number;
  request_id: string;
  table_name: string;
  identity: string;
  accepted_at: number;
  cut_off: number;
  entities: string;
  hashes: string;
  identities: Uint8Array;
  /** Null without a list of identities. */
  identities_key: Uint8Array | null;
  targets: string;
  done: string;
  times: string;
  attempts: number;
  problem: string | null;
  not_before: number;
  completed_at: number | null;
  notify: number;
}

/** Requests, each with the key of its identities. */
export const deletionRows =
  "(SELECT deletion.*, deletion_key.key AS identities_key FROM deletion LEFT JOIN deletion_key USING (sequence))";

export function deletionOf(row: DeletionRow): Deletion {
  return {
    ...waitingDeletionOf(row),
    table: row.table_name,
    identity: row.identity,
    cutOff: row.cut_off,
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

export type WaitingRow = Pick<DeletionRow, "request_id" | "accepted_at" | "entities" | "hashes" | "targets">;

export function waitingDeletionOf(row: WaitingRow): WaitingDeletion {
  return {
    requestId: row.request_id,
    acceptedAt: row.accepted_at,
    entities: JSON.parse(row.entities) as string[],
    hashes: JSON.parse(row.hashes) as string[],
    targets: JSON.parse(row.targets) as string[],
  };
}
