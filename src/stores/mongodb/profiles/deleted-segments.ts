import type { ClientSession, Db, Filter } from "mongodb";
import type { SegmentDeletion } from "../../../entities/profile/entity.js";
import { SEGMENT_GENERATION } from "../../database-facts.js";
import { byIds, type CollectionPlan, type InSession, revisionAfter } from "../collection.js";
import { factDocumentsOf, numberIn } from "../database-facts.js";
import { type EntityDocument, entityCollectionsOf, formerMemberOf, GENERATION, memberOf } from "./entity-document.js";

export const removedSegments: CollectionPlan = { name: "removed_segments", indexes: [{ key: { lookUntil: 1 } }] };

/** A segment that was deleted. */
export interface RemovedSegment {
  readonly _id: string;
  /** When it was last deleted, Unix ms. */
  readonly deletedAt: number;
  /** See `SegmentDeletion`. */
  readonly generation: number;
  /**
   * End of the search for void updates, by the clock of the server; absent once no void update can be stored any more.
   */
  readonly lookUntil?: Date;
}

export const removedSegmentsOf = (db: Db) => db.collection<RemovedSegment>(removedSegments.name);

/** Returns the newest generation; 0: none. */
export function newestGeneration(db: Db, inside: InSession = {}): Promise<number> {
  return numberIn(db, SEGMENT_GENERATION, inside);
}

/** Returns the last deletion of each of these segments that was ever deleted. */
export async function segmentDeletionsOf(db: Db, ids: readonly string[]): Promise<Map<string, SegmentDeletion>> {
  if (ids.length === 0) return new Map();
  const found = await removedSegmentsOf(db)
    .find(byIds(ids), { batchSize: ids.length + 1 })
    .toArray();
  return new Map(found.map((segment) => [segment._id, deletionOf(segment)]));
}

export function deletionOf({ deletedAt, generation }: RemovedSegment): SegmentDeletion {
  return { at: deletedAt, generation };
}

/** Returns the generations of the segments whose void updates may still be stored. */
export async function endingGenerations(db: Db): Promise<Map<string, number>> {
  const found = await removedSegmentsOf(db).find(isEnding).toArray();
  return new Map(found.map(({ _id, generation }) => [_id, generation]));
}

const isEnding: Filter<RemovedSegment> = { lookUntil: { $gt: new Date(0) } };

/**
 * Minimum duration of the search for void updates after a deletion, ms. A commit that read the generation before a
 * deletion and is stored after it does not conflict with it, so its updates must be found later. (A document written by
 * every commit would be contended.) The server aborts a transaction after a minute (`transactionLifetimeLimitSeconds`).
 */
const LOOK_MS = 300_000;

/** Begins a generation in a transaction, and returns it. Concurrent ones conflict. */
export async function beginGeneration(db: Db, session: ClientSession): Promise<number> {
  // Not the next number: one that was read may be lost with its primary and given to another generation.
  const raise = { $inc: { number: revisionAfter(0) } };
  const raised = { session, upsert: true, returnDocument: "after" } as const;
  return (await factDocumentsOf(db).findOneAndUpdate({ _id: SEGMENT_GENERATION }, raise, raised))?.number as number;
}

/**
 * Must run in the transaction that removes the segment at `at` (Unix ms). Returns the generation that it begins.
 * Concurrent ones conflict.
 */
export async function recordDeletion(db: Db, id: string, at: number, session: ClientSession): Promise<number> {
  const generation = await beginGeneration(db, session);
  const deletedAt = { $max: ["$deletedAt", at] };
  const lookUntil = { $add: ["$$NOW", LOOK_MS] };
  const update = [{ $set: { deletedAt, generation, lookUntil } }];
  await removedSegmentsOf(db).updateOne({ _id: id }, update, { session, upsert: true });
  return generation;
}

/** Filter for profiles with a void update about the segment. */
function voidUpdates(segment: string, generation: number): Filter<EntityDocument> {
  return {
    segments: { $in: [memberOf(segment), formerMemberOf(segment)] },
    updates: { $elemMatch: { 0: segment, [GENERATION]: { $lt: generation } } },
  };
}

/** Profiles changed by one call, and segments searched by one query. */
const PROFILES_AT_ONCE = 200;
const SEGMENTS_AT_ONCE = 100;

/** Removes void updates from profiles, as `CatalogueStore.endMemberships` promises. */
export function voidRemoval(db: Db): () => Promise<boolean> {
  const { entities } = entityCollectionsOf(db);
  const removed = removedSegmentsOf(db);

  /** Returns true if more may be left. It takes a few queries for any number of deleted segments. */
  async function endSome(generations: readonly (readonly [string, number])[]): Promise<boolean> {
    const either = generations.map(([id, generation]) => voidUpdates(id, generation));
    if ((await entities.countDocuments({ $or: either }, { limit: 1 })) > 0) {
      let isMore = false;
      for (const [id, generation] of generations)
        isMore = (await removeUpdates(db, id, voidUpdates(id, generation))) === PROFILES_AT_ONCE || isMore;
      return isMore;
    }
    const ids = generations.map(([id]) => id);
    const isOver = { ...byIds<RemovedSegment>(ids), $expr: { $lt: ["$lookUntil", "$$NOW"] } };
    await removed.updateMany(isOver, { $unset: { lookUntil: "" } });
    return false;
  }

  return async () => {
    const generations = [...(await endingGenerations(db))];
    let isMore = false;
    for (let from = 0; from < generations.length; from += SEGMENTS_AT_ONCE)
      isMore = (await endSome(generations.slice(from, from + SEGMENTS_AT_ONCE))) || isMore;
    return isMore;
  };
}

/**
 * Removes the segment's update from some of these profiles and returns their number. Each is changed only at the
 * revision that was read: it may have a valid update by now.
 */
async function removeUpdates(db: Db, segment: string, profiles: Filter<EntityDocument>): Promise<number> {
  const { entities } = entityCollectionsOf(db);
  const found = await entities.find(profiles, { projection: { revision: 1 }, limit: PROFILES_AT_ONCE }).toArray();
  if (found.length === 0) return 0;
  const named = [memberOf(segment), formerMemberOf(segment)].map((text) => ({ $literal: text }));
  const others = { $ne: [{ $arrayElemAt: ["$$update", 0] }, { $literal: segment }] };
  const forget = {
    segments: { $setDifference: ["$segments", named] },
    updates: { $filter: { input: "$updates", as: "update", cond: others } },
    revision: { $add: ["$revision", revisionAfter(0)] },
  };
  await entities.bulkWrite(
    found.map(({ _id, revision }) => ({ updateOne: { filter: { _id, revision }, update: [{ $set: forget }] } })),
    { ordered: false },
  );
  return found.length;
}
