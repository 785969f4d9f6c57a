import type { Collection, Db, ObjectId } from "mongodb";
import type { SlotCount, SlotCounts } from "../../metrics/ports.js";
import type { CollectionPlan } from "./collection.js";
import { expiredCountsOf, messagesOf } from "./history.js";
import { Conflict, type Transact, unlessConflict } from "./transaction.js";

export const slotCountCollections: readonly CollectionPlan[] = [
  // The second index covers the list of streams.
  { name: "touched_slots", indexes: [{ key: { slot: 1, stream: 1 } }, { key: { stream: 1, slot: 1, arrival: 1 } }] },
  { name: "expired_counts", indexes: [{ key: { stream: 1, slot: 1 } }] },
  { name: "streams", indexes: [] },
];

/**
 * A note that a commit added messages to a slot of a stream. It exists until the recorder has saved a count that
 * contains them, so the messages of a slot are the last saved count plus its notes.
 */
interface TouchedSlot {
  readonly _id?: ObjectId;
  readonly stream: string;
  readonly slot: number;
  /** Messages added by the commit. */
  readonly messages: number;
  /** Arrival of the commit's newest message, Unix ms; absent in notes written by `npm run migrate`. */
  readonly arrival?: number;
}

export function touchedSlotsOf(db: Db): Collection<TouchedSlot> {
  return db.collection<TouchedSlot>("touched_slots");
}

/**
 * A stream that received messages. Messages since the recorder last saved its slots are in the notes of touched slots.
 */
export interface StreamDocument {
  /** Its name. */
  readonly _id: string;
  /** Unix ms. Written outside transactions: concurrent commits would conflict over it. */
  readonly lastArrival: number;
}

export function streamsOf(db: Db): Collection<StreamDocument> {
  return db.collection<StreamDocument>("streams");
}

/** Maximum notes of touched slots read by one call; the next call reads the rest. */
const NOTES = 10_000;
const COUNTS_AT_ONCE = 4;

interface Touched {
  readonly stream: string;
  readonly slot: number;
  readonly notes: ObjectId[];
  /** Sum of the notes. */
  messages: number;
  /** The newest arrival of the notes. */
  arrival: number;
}

/** State that `saved` needs of a count. */
interface Token {
  readonly notes: readonly ObjectId[];
  readonly arrival: number;
}

/**
 * Stream counts: the messages in the index for a stream and slot. Each commit leaves a note of the slots that it
 * touched. The recorder reads the notes of a slot and its count from one snapshot, saves the count, then removes those
 * notes. So a saved count contains every message whose note was removed.
 */
export function mongoSlotCounts(db: Db, transact: Transact): Pick<SlotCounts, "unsaved" | "saved"> {
  const messages = messagesOf(db);
  const notes = touchedSlotsOf(db);
  const expired = expiredCountsOf(db);

  async function touched(filter: object): Promise<Touched[]> {
    const found = await notes.find(filter).sort({ slot: 1, stream: 1 }).limit(NOTES).toArray();
    const slots = new Map<string, Touched>();
    for (const { _id, stream, slot, arrival = slot, messages: added } of found) {
      const key = `${slot}/${stream}`;
      const known = slots.get(key) ?? { stream, slot, notes: [], messages: 0, arrival };
      known.notes.push(_id);
      known.messages += added;
      known.arrival = Math.max(known.arrival, arrival);
      slots.set(key, known);
    }
    return [...slots.values()];
  }

  /**
   * Replaces many notes by one new note. It must be new: another recorder may delete the old ones with a count that
   * misses the latest message.
   */
  async function thin(slots: readonly Touched[]): Promise<void> {
    const many = slots.filter((slot) => slot.notes.length > 1);
    if (many.length === 0) return;
    const read = many.flatMap((slot) => slot.notes);
    await unlessConflict(transact, async (session) => {
      const { deletedCount } = await notes.deleteMany({ _id: { $in: read } }, { session });
      // Another recorder has removed some: leave the rest unchanged.
      if (deletedCount < read.length) throw new Conflict();
      await notes.insertMany(
        many.map(({ stream, slot, messages, arrival }) => ({ stream, slot, messages, arrival })),
        { session },
      );
    });
  }

  /**
   * Reads the notes and both parts of the count in one snapshot, as `expire` moves messages between the parts.
   * Undefined if the notes are gone.
   */
  function count({ stream, slot }: Touched): Promise<SlotCount | undefined> {
    return transact(async (session) => {
      const read = await notes.find({ slot, stream }, { session, batchSize: NOTES + 1, limit: NOTES }).toArray();
      if (read.length === 0) return undefined;
      const arrival = Math.max(...read.map((note) => note.arrival ?? slot));
      const token: Token = { notes: read.map(({ _id }) => _id), arrival };
      const kept = await messages.countDocuments({ stream, slot }, { session });
      const gone = await expired.findOne({ _id: `${slot}/${stream}` }, { session });
      return { stream, slot, count: kept + (gone?.count ?? 0), token };
    });
  }

  /**
   * Saves the count and removes its notes in one transaction, so that their sum is always the number of messages. A
   * missing note was removed by another recorder, and it is unknown which of the two wrote the later count. The slot
   * then gets a new note, to be saved again.
   */
  async function removeNotes({ stream, slot, count, token }: SlotCount): Promise<void> {
    const { notes: read, arrival } = token as Token;
    await streamsOf(db).updateOne({ _id: stream }, { $max: { lastArrival: arrival } }, { upsert: true });
    const ofToken = { _id: { $in: [...read] } };
    const _id = `${slot}/${stream}`;
    await transact(async (session) => {
      if ((await notes.countDocuments(ofToken, { session })) < read.length) {
        await notes.insertOne({ stream, slot, messages: 0, arrival }, { session });
        return;
      }
      await notes.deleteMany(ofToken, { session });
      const update = { $set: { saved: count }, $setOnInsert: { stream, slot } };
      await expired.updateOne({ _id }, update, { upsert: true, session });
    });
  }

  return {
    async unsaved(before, limit) {
      await thin(await touched({ slot: { $gte: before } }));
      const slots = (await touched({ slot: { $lt: before } })).slice(0, limit);
      const counts: SlotCount[] = [];
      for (let from = 0; from < slots.length; from += COUNTS_AT_ONCE) {
        const some = await Promise.all(slots.slice(from, from + COUNTS_AT_ONCE).map(count));
        counts.push(...some.flatMap((one) => one ?? []));
      }
      return counts;
    },

    async saved(counts) {
      for (let from = 0; from < counts.length; from += COUNTS_AT_ONCE) {
        await Promise.all(counts.slice(from, from + COUNTS_AT_ONCE).map(removeNotes));
      }
    },
  };
}

/**
 * Lists streams and their counts: the last saved count of a slot plus the notes since. Reads no messages, as a slot may
 * have millions. A slot may be listed in two parts. The server aborts a query after `maxTimeMS`.
 */
export function countedStreams(
  db: Db,
  transact: Transact,
  maxTimeMS: number,
): Pick<SlotCounts, "streams" | "counted" | "totals"> {
  const notes = touchedSlotsOf(db);
  const slots = expiredCountsOf(db);

  return {
    /** A note is removed only after `streams` contains it, so the notes are read first. */
    async streams(after = "", limit) {
      const ofNotes = [
        { $match: { stream: { $gt: after } } },
        { $group: { _id: "$stream", lastArrival: { $max: { $ifNull: ["$arrival", "$slot"] } } } },
        { $sort: { _id: 1 } },
        { $limit: limit },
      ];
      const noted = await notes.aggregate<StreamDocument>(ofNotes, { maxTimeMS }).toArray();
      const byId = { sort: { _id: 1 }, limit, maxTimeMS } as const;
      const kept = await streamsOf(db)
        .find({ _id: { $gt: after } }, byId)
        .toArray();
      const newest = new Map<string, number>();
      for (const { _id, lastArrival } of [...kept, ...noted]) {
        newest.set(_id, Math.max(lastArrival, newest.get(_id) ?? lastArrival));
      }
      const byName = [...newest].sort(([a], [b]) => (a < b ? -1 : 1));
      return byName.slice(0, limit).map(([stream, lastArrival]) => ({ stream, lastArrival }));
    },

    /** Both from one snapshot: the recorder removes notes and saves their count in one transaction. */
    counted: (names, from, to) =>
      transact(async (session) => {
        const wanted = { stream: { $in: [...names] }, slot: { $gte: from, $lt: to } };
        const options = { session, maxTimeMS };
        const ofNotes = [
          { $match: wanted },
          { $group: { _id: { stream: "$stream", slot: "$slot" }, count: { $sum: "$messages" } } },
          { $project: { _id: 0, stream: "$_id.stream", slot: "$_id.slot", count: 1 } },
        ];
        const noted = await notes.aggregate<SlotCount>(ofNotes, options).toArray();
        const saved = await slots.find({ ...wanted, saved: { $exists: true } }, options).toArray();
        return [...noted, ...saved.map(({ stream, slot, saved: count = 0 }) => ({ stream, slot, count }))];
      }),

    /** From one snapshot, as above. */
    totals: (names, from, to) =>
      transact(async (session) => {
        const wanted = { stream: { $in: [...names] }, slot: { $gte: from, $lt: to } };
        const sumsOf = (field: string) => [
          { $match: wanted },
          { $group: { _id: "$stream", total: { $sum: `$${field}` } } },
        ];
        const options = { session, maxTimeMS };
        const noted = await notes.aggregate<{ _id: string; total: number }>(sumsOf("messages"), options).toArray();
        const saved = await slots.aggregate<{ _id: string; total: number }>(sumsOf("saved"), options).toArray();
        const totals = new Map<string, number>();
        for (const { _id, total } of [...noted, ...saved]) totals.set(_id, total + (totals.get(_id) ?? 0));
        return totals;
      }),
  };
}
