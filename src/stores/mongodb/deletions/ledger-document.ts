import { Binary, type Collection, type Db, Timestamp } from "mongodb";
import { type Deletion, NOTIFICATION } from "../../../deletions/deletion.js";
import type { CollectionPlan } from "../collection.js";
import type { KeyWrapping } from "../profiles/entity-keys.js";

/** Deletion requests; suppression queries `entities`. */
export const deletions: CollectionPlan = {
  name: "deletions",
  indexes: [
    { key: { sequence: 1 }, unique: true },
    { key: { number: 1, sequence: 1 } },
    { key: { open: 1, sequence: 1 } },
    { key: { open: 1, nextTarget: 1, notBefore: 1, sequence: 1 } },
    { key: { open: 1, nextTarget: 1, completedAt: 1 } },
    { key: { open: 1, completedAt: 1 } },
    { key: { open: 1, attempts: 1 }, partialFilterExpression: { open: true } },
    { key: { hashes: 1, isEmpty: 1, sequence: 1 }, partialFilterExpression: { open: true } },
    { key: { entities: 1 } },
  ],
};

export function deletionsOf(db: Db): Collection<DeletionDocument> {
  return db.collection<DeletionDocument>(deletions.name);
}

/** A stored request: one document, so that one write is atomic. */
export interface DeletionDocument
  extends Omit<Deletion, "requestId" | "encryptedIdentities" | "problem" | "completedAt"> {
  /** The request id. */
  readonly _id: string;
  /**
   * Place in the order of acceptance, assigned by the server: the cluster time. The later of two requests over one
   * identity waits for the commit of the earlier one, so it has the later time.
   */
  readonly sequence: Timestamp;
  /** See `numberDeletions`; null before. */
  readonly number: number | null;
  /** Identities as written, encrypted under `key`, which is wrapped. Null without remote targets and once destroyed. */
  readonly identities: { readonly key: Binary; readonly bytes: Binary } | null;
  readonly problem: string | null;
  /** The remote target, or the notification, that the next run calls; null without one. */
  readonly nextTarget: string | null;
  /** The run that leases the request. */
  readonly runner: string | null;
  readonly open: boolean;
  /** Whether it has neither profiles nor encrypted identities, so that no other waits for it. Absent in layout 3. */
  readonly isEmpty?: boolean | null;
  readonly completedAt: number | null;
  /** The call that completed the request. */
  readonly completedBy: string | null;
}

/** Returns the document of a new request, or of one that is copied with its number. */
export function deletionDocument(
  deletion: Deletion,
  number: number | undefined,
  wrapping: KeyWrapping,
): DeletionDocument {
  const { requestId, encryptedIdentities, problem, completedAt, ...rest } = deletion;
  return {
    _id: requestId,
    sequence: sequenceOf(number),
    number: number ?? null,
    ...rest,
    identities:
      encryptedIdentities === undefined
        ? null
        : { key: new Binary(wrapping.wrap(encryptedIdentities.key)), bytes: new Binary(encryptedIdentities.bytes) },
    problem: problem ?? null,
    nextTarget: completedAt !== undefined && deletion.notify ? NOTIFICATION : null,
    runner: null,
    open: completedAt === undefined,
    isEmpty: deletion.entities.length === 0 && encryptedIdentities === undefined,
    completedAt: completedAt ?? null,
    completedBy: null,
  };
}

/** Returns the place of a numbered request, before every other; without a number one that the server replaces. */
function sequenceOf(number = 0): Timestamp {
  return new Timestamp({ t: 0, i: number });
}

export function deletionOf(document: DeletionDocument, wrapping: KeyWrapping): Deletion {
  const { identities } = document;
  return {
    requestId: document._id,
    table: document.table,
    acceptedAt: document.acceptedAt,
    entities: document.entities,
    hashes: document.hashes,
    encryptedIdentities:
      identities === null
        ? undefined
        : { key: wrapping.unwrap(identities.key.value()), bytes: new Uint8Array(identities.bytes.value()) },
    targets: document.targets,
    done: document.done,
    times: document.times,
    attempts: document.attempts,
    problem: document.problem ?? undefined,
    notBefore: document.notBefore,
    completedAt: document.completedAt ?? undefined,
    notify: document.notify,
  };
}
