import type { Deletion } from "../../deletions/deletion.js";

/** A row of `deletion`. */
export interface DeletionRow {
  sequence: number;
  request_id: string;
  table_name: string;
  identity: string;
  accepted_at: number;
  cut_off: number;
  entities: string;
  hashes: string;
  sealer: string;
  sealed: Uint8Array;
  targets: string;
  done: string;
  attempts: number;
  not_before: number;
  revision: number;
  completed_at: number | null;
  times: string;
  problem: string | null;
}

export function deletionOf(row: DeletionRow): Deletion {
  return {
    requestId: row.request_id,
    table: row.table_name,
    identity: row.identity,
    acceptedAt: row.accepted_at,
    cutOff: row.cut_off,
    entities: JSON.parse(row.entities) as string[],
    hashes: JSON.parse(row.hashes) as string[],
    sealer: row.sealer,
    sealedIdentities: row.sealed,
    targets: JSON.parse(row.targets) as string[],
    done: JSON.parse(row.done) as string[],
    times: JSON.parse(row.times) as Deletion["times"],
    attempts: row.attempts,
    problem: row.problem ?? undefined,
    notBefore: row.not_before,
    revision: row.revision,
    completedAt: row.completed_at ?? undefined,
  };
}
