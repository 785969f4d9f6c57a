import { Binary, type ClientSession, type Collection, type Db, type UpdateFilter } from "mongodb";
import type { ProfileChange } from "../../../entities/ports.js";
import {
  type EntityId,
  type Memberships,
  type StoredEntity,
  type StoredUpdate,
  type UpdateVersion,
  updatesBySegment,
  validMemberships,
} from "../../../entities/profile/entity.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { byIds, type CollectionPlan, revisionAfter } from "../collection.js";

export const entityCollections: readonly CollectionPlan[] = [
  {
    name: "entities",
    indexes: [
      { key: { segments: 1, _id: 1 } },
      { key: { born: 1 } },
      { key: { table: 1, _id: 1 } },
      { key: { due: 1, _id: 1 }, partialFilterExpression: { due: { $exists: true } } },
    ],
  },
  { name: "identities", indexes: [{ key: { entity: 1 } }] },
];

/** A live profile, or one named by an accepted deletion and not removed yet. */
export interface EntityDocument extends Pick<StoredEntity, "table" | "revision" | "born"> {
  readonly _id: EntityId;
  readonly bindings: readonly { readonly hash: IdentityHash }[];
  readonly joined: readonly EntityId[];
  readonly sealed: Binary;
  readonly fullSince: UpdateVersion | null;
  readonly updates: readonly StoredUpdate[];
  /** One text per update, for the index: see `memberOf` and `formerMemberOf`. */
  readonly segments: readonly string[];
  readonly due?: number;
  /** See `markedErased`. */
  readonly erased?: true;
}

/** Place of the generation in an update. */
export const GENERATION = 5;

/** The entity of an identity. The hash is the `_id`, so an identity has one entity, on a sharded cluster too. */
export interface IdentityDocument {
  readonly _id: IdentityHash;
  readonly entity: EntityId;
  /**
   * Increased when a deletion is accepted for an identity without a profile, so that concurrent writers that bind it
   * conflict.
   */
  readonly asked?: number;
}

export function entityCollectionsOf(db: Db) {
  return {
    entities: db.collection<EntityDocument>("entities"),
    identities: db.collection<IdentityDocument>("identities"),
  };
}

/** Fields of a profile whose deletion is accepted: it is not read, and without its index texts it is no member. */
export const markedErased = { erased: true, segments: [] } as const;

export const memberOf = (segment: string) => `+${segment}`;
export const formerMemberOf = (segment: string) => `-${segment}`;

/** Returns the document of a profile at this revision. */
export function entityDocument(entity: StoredEntity, revision: number): EntityDocument {
  const { id: _id, table, born, sealed, memberships, due } = entity;
  const fullSince = memberships.fullSince ?? null;
  const [identities, updates] = [identitiesIn(entity), updatesIn(memberships)];
  const fields = { _id, table, revision, born, ...identities, sealed: new Binary(sealed), fullSince, ...updates };
  return due === undefined ? fields : { ...fields, due };
}

/** Returns the update of a stored profile by a commit. */
export function updateOf(change: ProfileChange): UpdateFilter<EntityDocument> {
  const { entity, changedSegments, addedHashes, mergedFrom } = change;
  const { revision, sealed, memberships, due } = entity;
  const fields = {
    revision: revisionAfter(revision),
    sealed: new Binary(sealed),
    fullSince: memberships.fullSince ?? null,
    ...(addedHashes.size + mergedFrom.length > 0 ? identitiesIn(entity) : {}),
    ...(changedSegments.size > 0 ? updatesIn(memberships) : {}),
  };
  return due === undefined ? { $set: fields, $unset: { due: "" } } : { $set: { ...fields, due } };
}

function identitiesIn({ hashes, mergedIds }: StoredEntity): Pick<EntityDocument, "bindings" | "joined"> {
  return { bindings: hashes.map((hash) => ({ hash })), joined: mergedIds };
}

function updatesIn({ updates }: Memberships): Pick<EntityDocument, "updates" | "segments"> {
  const all = [...updates];
  return {
    updates: all.map(([segment, { member, time, arrival, position, generation }]) => [
      segment,
      member,
      time,
      arrival,
      position,
      generation,
    ]),
    segments: all.map(([segment, { member }]) => (member ? memberOf(segment) : formerMemberOf(segment))),
  };
}

/** Returns the revisions of the live profiles among these. */
export async function revisionsOf(
  entities: Collection<EntityDocument>,
  ids: readonly EntityId[],
  session: ClientSession,
): Promise<Map<EntityId, number>> {
  if (ids.length === 0) return new Map();
  const live = { ...byIds<EntityDocument>(ids), erased: { $exists: false } };
  const options = { session, projection: { revision: 1 }, batchSize: ids.length + 1 };
  return new Map((await entities.find(live, options).toArray()).map(({ _id, revision }) => [_id, revision]));
}

/** Returns the profile without void updates; see `validMemberships`. */
export function entityOf(document: EntityDocument, generations: ReadonlyMap<string, number>): StoredEntity {
  const { _id: id, table, revision, born, bindings, joined, fullSince, updates, due, sealed } = document;
  const memberships = { fullSince: fullSince ?? undefined, updates: updatesBySegment(updates) };
  return {
    id,
    table,
    revision,
    born,
    hashes: bindings.map(({ hash }) => hash),
    mergedIds: joined,
    memberships: validMemberships(memberships, generations),
    due,
    sealed: new Uint8Array(sealed.value()),
  };
}
