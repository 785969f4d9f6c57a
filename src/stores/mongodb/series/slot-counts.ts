import type { Collection, Db, ObjectId } from "mongodb";
import type { AddedCount } from "../../../metrics/added-counts.js";
import type { SlotCounts } from "../../../metrics/ports.js";
import type { CollectionPlan } from "../collection.js";
import { Conflict, type Transact, unlessConflict } from "../transaction.js";

export const slotCountCollections: readonly CollectionPlan[] = [
  // The index covers the list of streams.
  { name: "added_counts", indexes: [{ key: { stream: 1, slot: 1, arrival: 1 } }] },
  { name: "stream_counts", indexes: [{ key: { stream: 1, slot: 1 } }, { key: { unsaved: 1, slot: 1, stream: 1 } }] },
  { name: "streams", indexes: [] },
];

/**
 * Messages, or people who joined or left a segment, that a commit added to a slot and its count does not include yet.
 * Each transaction inserts its own document: updates of one count would conflict.
 */
type AddedCountDocument = AddedCount & { readonly _id?: ObjectId };

export const addedCountsOf = (db: Db): Collection<AddedCountDocument> =>
  db.collection<AddedCountDocument>("added_counts");

/** Messages of a slot of a stream, without those in `added_counts`. */
export interface StreamCountDocument {
  readonly _id: string;
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  /** The last saved count; null if none was, or if two recorders saved different ones. */
  readonly saved: number | null;
  /** Whether `saved` differs from `count`. */
  readonly unsaved: boolean;
}

export const streamCountsOf = (db: Db): Collection<StreamCountDocument> =>
  db.collection<StreamCountDocument>("stream_counts");

export function streamCountId(stream: string, slot: number): string {
  return `${slot}/${stream}`;
}

/** A stream that received messages. */
export interface StreamDocument {
  /** Its name. */
  readonly _id: string;
  /** Without the messages in `added_counts`, Unix ms. */
  readonly lastArrival: number;
}

export const streamsOf = (db: Db): Collection<StreamDocument> => db.collection<StreamDocument>("streams");

/** Maximum additions that one transaction moves. */
const MOVED_AT_ONCE = 1_000;

/** Maximum transactions per call; the next call moves further additions. */
const MOVES = 10;

/**
 * Counts of streams. The messages of a slot are its count plus the additions of commits, which the recorder moves into
 * the count. Reads no messages: a slot may have millions, and messages are erased. The server aborts a query of a
 * request after `maxTimeMS`.
 */
export function mongoSlotCounts(db: Db, transact: Transact, maxTimeMS: number): SlotCounts {
  const added = addedCountsOf(db);
  const counts = streamCountsOf(db);
  const streams = streamsOf(db);

  /** Returns true if more may be left. */
  async function moveAdditions(): Promise<boolean> {
    const found = await added.find().sort({ _id: 1 }).limit(MOVED_AT_ONCE).toArray();
    if (found.length === 0) return false;
    const isMoved = await unlessConflict(transact, async (session) => {
      const { deletedCount } = await added.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session });
      // Another process has moved some of them.
      if (deletedCount < found.length) throw new Conflict();
      const additions = found.map(({ stream, slot, count }) => ({
        updateOne: {
          filter: { _id: streamCountId(stream, slot) },
          update: { $inc: { count }, $set: { unsaved: true }, $setOnInsert: { stream, slot, saved: null } },
          upsert: true,
        },
      }));
      await counts.bulkWrite(additions, { session });
      const newest = new Map<string, number>();
      for (const { stream, arrival } of found)
        if (arrival !== undefined) newest.set(stream, Math.max(arrival, newest.get(stream) ?? arrival));
      if (newest.size === 0) return;
      const arrivals = Array.from(newest, ([_id, lastArrival]) => ({
        updateOne: { filter: { _id }, update: { $max: { lastArrival } }, upsert: true },
      }));
      await streams.bulkWrite(arrivals, { session });
    });
    return isMoved && found.length === MOVED_AT_ONCE;
  }

  return {
    async unsaved(before, limit) {
      for (let move = 0; move < MOVES && (await moveAdditions()); move += 1);
      const found = counts.find({ unsaved: true, slot: { $lt: before } }).sort({ slot: 1, stream: 1 });
      const all = await found.limit(limit).toArray();
      return all.map(({ stream, slot, count, saved }) => ({ stream, slot, count, token: saved }));
    },

    async saved(list) {
      if (list.length === 0) return;
      // null if another recorder has saved the slot since: then it is saved again.
      const savedIf = (token: unknown, count: number) => ({ $cond: [{ $eq: ["$saved", token] }, count, null] });
      const updates = list.map(({ stream, slot, count, token }) => ({
        updateOne: {
          filter: { _id: streamCountId(stream, slot) },
          update: [{ $set: { saved: savedIf(token, count) } }, { $set: { unsaved: { $ne: ["$saved", "$count"] } } }],
        },
      }));
      await counts.bulkWrite(updates, { ordered: false });
    },

    /** Additions are moved together with their stream's arrival, so they are read first. */
    async streams(after = "", limit) {
      const firstByName = [{ $sort: { _id: 1 } }, { $limit: limit }];
      const known = [{ $match: { _id: { $gt: after } } }, ...firstByName];
      const newest = await added
        .aggregate<StreamDocument>(
          [
            { $match: { stream: { $gt: after }, arrival: { $exists: true } } },
            { $group: { _id: "$stream", lastArrival: { $max: "$arrival" } } },
            { $unionWith: { coll: streams.collectionName, pipeline: known } },
            { $group: { _id: "$_id", lastArrival: { $max: "$lastArrival" } } },
            ...firstByName,
          ],
          { maxTimeMS },
        )
        .toArray();
      return newest.map(({ _id, lastArrival }) => ({ stream: _id, lastArrival }));
    },

    /** Sums the count and the additions, from one snapshot. */
    counted(names, slot) {
      const wanted = { stream: { $in: [...names] }, slot: { $eq: slot } };
      const pipeline = [{ $match: wanted }, { $group: { _id: "$stream", count: { $sum: "$count" } } }];
      return transact(async (session) => {
        const sums = new Map<string, number>();
        for (const collection of [added, counts] as readonly Pick<typeof counts, "aggregate">[]) {
          const found = collection.aggregate<{ _id: string; count: number }>(pipeline, { session, maxTimeMS });
          for (const { _id, count } of await found.toArray()) sums.set(_id, count + (sums.get(_id) ?? 0));
        }
        return sums;
      });
    },
  };
}
