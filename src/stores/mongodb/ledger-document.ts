import { Binary, type Collection, type Db } from "mongodb";
import type { Deletion } from "../../deletions/deletion.js";
import type { Extension } from "../../deletions/ports.js";
import type { EntityId } from "../../entities/entity.js";
import type { IdentityHash } from "../../entities/identity.js";
import { type CollectionPlan, type InSession, revisionAfter } from "./collection.js";

/** Event, outbox and suppression: `suppressed.hash` and `entities` are what suppression asks for. */
export const deletions: CollectionPlan = {
  name: "deletions",
  indexes: [
    { key: { sequence: 1 }, unique: true },
    { key: { open: 1, sequence: 1 } },
    { key: { open: 1, notBefore: 1 } },
    { key: { open: 1, completedAt: 1 } },
    { key: { identity: 1, open: 1, sequence: -1 } },
    { key: { "suppressed.hash": 1 } },
    { key: { entities: 1 } },
  ],
};

export function deletionsOf(db: Db): Collection<DeletionDocument> {
  return db.collection<DeletionDocument>(deletions.name);
}

/** A request as it is stored: one document, so that one write is all or nothing. */
export interface DeletionDocument {
  /** The request id. */
  readonly _id: string;
  readonly sequence: number;
  readonly table: string;
  readonly identity: IdentityHash;
  readonly acceptedAt: number;
  readonly cutOff: number;
  readonly entities: readonly EntityId[];
  readonly suppressed: readonly { readonly hash: IdentityHash; readonly cutOff: number }[];
  readonly sealer: EntityId;
  readonly sealed: Binary;
  readonly targets: readonly string[];
  readonly done: readonly string[];
  readonly times: Deletion["times"];
  readonly attempts: number;
  readonly problem: string | null;
  readonly notBefore: number;
  /** Unix ms when `notBefore` was noted, and when `runner` took the request; absent until then. */
  readonly notedAt?: number;
  readonly runnerSince?: number;
  readonly revision: number;
  readonly open: boolean;
  readonly completedAt: number | null;
  /** Who has the request for itself; of a completed one, the call that completed it. */
  readonly runner: string | null;
  /** Unix ms until which `runner` has it for itself. */
  readonly runnerUntil: number;
}

/** What is stored of a request that is new. */
export function deletionDocument(deletion: Deletion, sequence: number): DeletionDocument {
  const { requestId, hashes, sealedIdentities, problem, completedAt, ...rest } = deletion;
  return {
    _id: requestId,
    sequence,
    ...rest,
    suppressed: hashes.map((hash) => ({ hash, cutOff: deletion.cutOff })),
    sealed: new Binary(sealedIdentities),
    problem: problem ?? null,
    open: completedAt === undefined,
    completedAt: completedAt ?? null,
    runner: null,
    runnerUntil: 0,
  };
}

export function deletionOf(document: DeletionDocument): Deletion {
  return {
    requestId: document._id,
    table: document.table,
    identity: document.identity,
    acceptedAt: document.acceptedAt,
    cutOff: document.cutOff,
    entities: document.entities,
    hashes: document.suppressed.map(({ hash }) => hash),
    sealer: document.sealer,
    sealedIdentities: new Uint8Array(document.sealed.value()),
    targets: document.targets,
    done: document.done,
    times: document.times,
    attempts: document.attempts,
    problem: document.problem ?? undefined,
    notBefore: document.notBefore,
    revision: document.revision,
    completedAt: document.completedAt ?? undefined,
  };
}

/** What an extension changes of an open request. The cut-off moves for the identity that was asked for. */
export function extended(kept: DeletionDocument, { cutOff: later, entities, sealed, done, times }: Extension) {
  const cutOff = Math.max(kept.cutOff, later?.at ?? 0);
  return {
    cutOff,
    entities: [...new Set([...kept.entities, ...(entities ?? [])])],
    suppressed: kept.suppressed.map((one) =>
      one.hash === kept.identity ? { hash: one.hash, cutOff: Math.max(one.cutOff, cutOff) } : one,
    ),
    sealer: sealed?.sealer ?? kept.sealer,
    sealed: sealed === undefined ? kept.sealed : new Binary(sealed.sealedIdentities),
    done: done ?? [],
    times: times ?? kept.times,
    attempts: 0,
    problem: null,
    notBefore: 0,
    revision: revisionAfter(kept.revision),
  } satisfies Partial<DeletionDocument>;
}

/** The newest cut-off of each of these identities that was ever asked to be erased. */
export async function newestCutOffs(
  db: Db,
  hashes: readonly IdentityHash[],
  inside: InSession = {},
): Promise<Map<IdentityHash, number>> {
  const newest = new Map<IdentityHash, number>();
  if (hashes.length === 0) return newest;
  const asked = new Set(hashes);
  const options = { projection: { _id: 0, suppressed: 1 }, ...inside };
  const over = deletionsOf(db).find({ "suppressed.hash": { $in: [...asked] } }, options);
  for (const { suppressed } of await over.toArray()) {
    for (const { hash, cutOff } of suppressed) {
      if (asked.has(hash)) newest.set(hash, Math.max(cutOff, newest.get(hash) ?? Number.NEGATIVE_INFINITY));
    }
  }
  return newest;
}
