import type { AnyBulkWriteOperation, ClientSession, Collection, FindCursor } from "mongodb";
import { groupedErasure, groupedReads, pagedReads } from "../../../async/grouped-calls.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import {
  type Commit,
  type EntityStore,
  type LoadedEntities,
  PAGE_BYTES,
  type ProfileChange,
} from "../../../entities/ports.js";
import { type EntityId, noSegmentDeletions, UPDATE_BYTES } from "../../../entities/profile/entity.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { commitCounts } from "../../../metrics/added-counts.js";
import { segmentsOf, unregistered } from "../catalogue/catalogue-store.js";
import { byIds } from "../collection.js";
import type { StoreDependencies } from "../connection.js";
import { newestCutOffs } from "../deletions/suppression.js";
import { isOfOneCall } from "../errors.js";
import { addedCountsOf } from "../series/slot-counts.js";
import { Conflict, unlessConflict } from "../transaction.js";
import { endingGenerations, newestGeneration, segmentDeletionsOf } from "./deleted-segments.js";
import {
  type EntityDocument,
  entityCollectionsOf,
  entityDocument,
  entityOf,
  type IdentityDocument,
  revisionsOf,
  updateOf,
} from "./entity-document.js";
import { addKeys } from "./entity-keys.js";
import { lastingIdsOf, messageDocument, messagesOf } from "./history.js";
import { writeOutbox } from "./outbox.js";

/** Concurrent requests share their reads. */
const READS = { most: 1_000, atOnce: 2, isOfOneCall };

/** Bytes of profiles that concurrent requests read at once: about one reply of the server. */
const SHARED_BYTES = 16 * 1_048_576;

/** Stores each profile in a document, and each identity with its owner in another. */
export function mongoEntityStore(dependencies: StoreDependencies): EntityStore {
  const { entities, identities } = entityCollectionsOf(dependencies.data);

  const ownersOf = groupedReads(async (hashes: readonly IdentityHash[]) => {
    const found = await identities.find(byIds(hashes), { batchSize: hashes.length + 1 }).toArray();
    return new Map(found.map(({ _id, entity }) => [_id, entity]));
  }, READS);

  async function loadWithin(ids: readonly EntityId[], maxBytes: number): Promise<LoadedEntities> {
    if (ids.length === 0) return { profiles: new Map(), left: [] };
    const live = { ...byIds<EntityDocument>(ids), erased: { $exists: false } };
    const [{ documents, next }, generations] = await Promise.all([
      documentsWithin(entities.find(live, { sort: { _id: 1 }, batchSize: ids.length + 1 }), maxBytes),
      endingGenerations(dependencies.data),
    ]);
    return {
      profiles: new Map(documents.map((document) => [document._id, entityOf(document, generations)])),
      left: next === undefined ? [] : ids.filter((id) => id >= next),
    };
  }

  const loadOne = pagedReads(async (ids: readonly EntityId[]) => {
    const { profiles, left } = await loadWithin(ids, SHARED_BYTES);
    return { found: profiles, left };
  }, READS);

  async function load(ids: readonly EntityId[], maxBytes = PAGE_BYTES): Promise<LoadedEntities> {
    const [id] = ids;
    if (id === undefined || ids.length > 1) return loadWithin(ids, maxBytes);
    const profile = await loadOne(id);
    return { profiles: new Map(profile === undefined ? [] : [[id, profile]]), left: [] };
  }

  return {
    async find(hashes, maxBytes, segments) {
      // The number is read first: a segment that is deleted during the other reads makes the commit conflict.
      const [owners, newest] = await Promise.all([
        ownersOf(hashes),
        segments === undefined ? 0 : newestGeneration(dependencies.data),
      ]);
      const [loaded, bySegment] = await Promise.all([
        load([...new Set(owners.values())], maxBytes),
        segments === undefined || newest === 0
          ? noSegmentDeletions.bySegment
          : segmentDeletionsOf(dependencies.data, segments),
      ]);
      return { owners, ...loaded, deletions: { newest, bySegment } };
    },

    load,

    async idsAfter(after = "", limit, table) {
      const options = { sort: { _id: 1 }, limit, batchSize: limit + 1, projection: { _id: 1 } } as const;
      const ofTable = table === undefined ? {} : { table: { $eq: table } };
      return (await entities.find({ ...ofTable, _id: { $gt: after } }, options).toArray()).map(({ _id }) => _id);
    },

    count: (table) => entities.countDocuments({ table: { $eq: table } }),

    async dueAfter(now, after, limit) {
      const options = { sort: { due: 1, _id: 1 }, limit, batchSize: limit + 1, projection: { due: 1 } } as const;
      const later =
        after === undefined ? {} : { $or: [{ due: { $gt: after.due } }, { due: after.due, _id: { $gt: after.id } }] };
      const found = await entities
        .find({ due: { $lte: now }, erased: { $exists: false }, ...later }, options)
        .toArray();
      return found.map(({ _id: id, due }) => ({ id, due: due as number }));
    },

    commit: commitProfiles(dependencies),

    ...groupedErasure({
      async erase(ids) {
        await entities.deleteMany(byIds(ids));
        await identities.deleteMany({ entity: { $in: [...ids] } });
      },
      async held(ids) {
        const documents = await entities.find(byIds(ids), { projection: { _id: 1 } }).toArray();
        return [
          ...documents.map(({ _id }) => _id),
          ...(await identities.distinct("entity", { entity: { $in: [...ids] } })),
        ];
      },
    }),
  };
}

/**
 * Returns the first documents of a cursor that fit into `maxBytes`, at least one, and the id of the next one. The
 * driver decodes a document when it is taken from the reply, so other requests run in between.
 */
async function documentsWithin(
  cursor: FindCursor<EntityDocument>,
  maxBytes: number,
): Promise<{ documents: EntityDocument[]; next: EntityId | undefined }> {
  const documents: EntityDocument[] = [];
  let bytes = 0;
  // Ending the loop early closes the cursor.
  for await (const document of cursor) {
    bytes += document.sealed.length() + UPDATE_BYTES * document.updates.length;
    if (bytes > maxBytes && documents.length > 0) return { documents, next: document._id };
    documents.push(document);
    await yieldWhenDue();
  }
  return { documents, next: undefined };
}

/**
 * Commits in one transaction over both databases. Profiles are changed only at the expected revision. An accepted
 * deletion changes the revision of its profiles, or writes the identity without a profile. So if a commit and a
 * deletion concern the same person, the later one conflicts and is planned again.
 */
function commitProfiles(dependencies: StoreDependencies): EntityStore["commit"] {
  return (commit) =>
    unlessConflict(dependencies.transact, async (session) => {
      await expectCutOffs(dependencies, commit, session);
      await expectGeneration(dependencies, commit, session);
      await writeProfiles(dependencies, commit.profiles, session);
      await writeIdentities(dependencies, commit, session);
      await addKeys(dependencies.ledger, dependencies.wrapping, commit.keys, session);
      await registerSegments(dependencies, commit.segments, session);
      await writeMessages(dependencies, commit, session);
      await writeOutbox(dependencies.data, dependencies.hooks, commit, session);
    });
}

/**
 * A deletion accepted *and completed* since planning leaves no document to conflict with; only the cut-offs show it.
 */
async function expectCutOffs(
  { ledger }: StoreDependencies,
  { owners, cutOffs }: Commit,
  session: ClientSession,
): Promise<void> {
  const now = await newestCutOffs(ledger, [...owners.keys()], { session });
  for (const hash of owners.keys()) if (now.get(hash)?.position !== cutOffs.get(hash)?.position) throw new Conflict();
}

/** Updates belong to the generation that this transaction reads: a deletion that it does not see voids them. */
async function expectGeneration(
  { data }: StoreDependencies,
  { generation }: Commit,
  session: ClientSession,
): Promise<void> {
  if ((await newestGeneration(data, { session })) !== generation) throw new Conflict();
}

async function writeProfiles(
  { data }: StoreDependencies,
  profiles: Commit["profiles"],
  session: ClientSession,
): Promise<void> {
  if (profiles.length === 0) return;
  const { entities } = entityCollectionsOf(data);
  await expectRevisions(entities, profiles, session);
  const inserts: AnyBulkWriteOperation<EntityDocument>[] = [];
  const updates: AnyBulkWriteOperation<EntityDocument>[] = [];
  const removals: AnyBulkWriteOperation<EntityDocument>[] = [];
  for (const change of profiles) {
    const { entity, mergedFrom } = change;
    if (entity.revision === 0) inserts.push({ insertOne: { document: entityDocument(entity, 1) } });
    else updates.push({ updateOne: { filter: { _id: entity.id }, update: updateOf(change) } });
    for (const { id } of mergedFrom) removals.push({ deleteOne: { filter: { _id: id } } });
  }
  await entities.bulkWrite([...inserts, ...updates, ...removals], { session });
}

/**
 * Checks that every changed or removed profile has the revision of the plan. Writing by `_id` alone takes half the time
 * of writing on condition of a revision; a profile that another writer changes after this read makes the transaction
 * run again.
 */
async function expectRevisions(
  entities: Collection<EntityDocument>,
  profiles: readonly ProfileChange[],
  session: ClientSession,
): Promise<void> {
  const stored = profiles.flatMap(({ entity, mergedFrom }) =>
    entity.revision === 0 ? mergedFrom : [entity, ...mergedFrom],
  );
  const ids = stored.map(({ id }) => id);
  const revisions = await revisionsOf(entities, ids, session);
  if (!stored.every(({ id, revision }) => revisions.get(id) === revision)) throw new Conflict();
}

/**
 * The writes of a transaction are ordered, one kind after the other. Without an order the driver continues after a
 * failure and reports the aborted transaction instead of its cause. That error would be retried although it fails every
 * time.
 */
async function writeIdentities(
  { data }: StoreDependencies,
  { profiles, owners }: Commit,
  session: ClientSession,
): Promise<void> {
  const { identities } = entityCollectionsOf(data);
  const newOwners = new Map<IdentityHash, EntityId>();
  const inserts: AnyBulkWriteOperation<IdentityDocument>[] = [];
  const moves: AnyBulkWriteOperation<IdentityDocument>[] = [];
  for (const { entity, mergedFrom } of profiles) {
    for (const hash of entity.hashes) newOwners.set(hash, entity.id);
    const gone = mergedFrom.map(({ id }) => id);
    if (gone.length > 0)
      await identities.updateMany({ entity: { $in: gone } }, { $set: { entity: entity.id } }, { session });
  }
  const gone = new Set(profiles.flatMap(({ mergedFrom }) => mergedFrom.map(({ id }) => id)));
  for (const [hash, owner] of owners) {
    const newOwner = newOwners.get(hash);
    if (newOwner === undefined || owner === newOwner || (owner !== undefined && gone.has(owner))) continue;
    if (owner === undefined) inserts.push({ insertOne: { document: { _id: hash, entity: newOwner } } });
    else moves.push({ replaceOne: { filter: { _id: hash, entity: owner }, replacement: { entity: newOwner } } });
  }
  if (inserts.length + moves.length === 0) return;
  const { matchedCount } = await identities.bulkWrite([...inserts, ...moves], { session });
  if (matchedCount !== moves.length) throw new Conflict();
}

async function registerSegments(
  { data }: StoreDependencies,
  segments: Commit["segments"],
  session: ClientSession,
): Promise<void> {
  const ids = await unregistered(
    data,
    segments.map(({ id }) => id),
    session,
  );
  if (ids.length === 0) return;
  const tables = new Map(segments.map(({ id, table }) => [id, table]));
  const documents = ids.map((id) => ({ _id: id, name: id, table: tables.get(id) as string }));
  await segmentsOf(data).insertMany(documents, { session });
}

async function writeMessages({ data }: StoreDependencies, commit: Commit, session: ClientSession): Promise<void> {
  const { messages, lastingIds } = commit;
  if (messages.length > 0) await messagesOf(data).insertMany(messages.map(messageDocument), { session });
  if (lastingIds.length > 0) {
    const ids = lastingIds.map((_id) => ({ _id }));
    await lastingIdsOf(data).insertMany(ids, { session });
  }
  const counts = commitCounts(commit);
  if (counts.length > 0) await addedCountsOf(data).insertMany(counts, { session });
}
