import { Binary, type Collection, type Db, type ObjectId } from "mongodb";
import { groupedErasure } from "../../async/grouped-calls.js";
import type { EntityId } from "../../entities/entity.js";
import type { History, HistoryMessage, Place } from "../../entities/ports.js";
import type { SlotCount, SlotCounts } from "../../metrics/ports.js";
import { byIds, type CollectionPlan } from "./collection.js";
import type { Transact } from "./transaction.js";

export const historyCollections: readonly CollectionPlan[] = [
  {
    name: "messages",
    indexes: [
      { key: { stream: 1, slot: 1 } },
      { key: { entity: 1, slot: 1 } },
      { key: { entity: 1, arrival: 1, position: 1, _id: 1 } },
      { key: { arrival: 1 } },
    ],
  },
  { name: "touched_slots", indexes: [{ key: { slot: 1, stream: 1 } }] },
];

/** A message. Of one that was erased stream and slot are left, so that it stays counted. */
export interface MessageDocument {
  readonly _id: string;
  readonly stream: string;
  /** Start of the slot of its event time, Unix ms. */
  readonly slot: number;
  /** null: it was erased. */
  readonly entity: EntityId | null;
  readonly table?: string;
  readonly time?: number;
  readonly arrival?: number;
  readonly position?: number;
  readonly sealed?: Binary;
}

/** That a commit added messages to a slot of a stream, until the recorder has saved a count that contains them. */
export interface TouchedSlot {
  readonly _id?: ObjectId;
  readonly stream: string;
  readonly slot: number;
  /** When the newest message of the commit arrived, Unix ms; absent in notes of earlier versions and of copies. */
  readonly arrival?: number;
}

export function messagesOf(db: Db): Collection<MessageDocument> {
  return db.collection<MessageDocument>("messages");
}

export function touchedSlotsOf(db: Db): Collection<TouchedSlot> {
  return db.collection<TouchedSlot>("touched_slots");
}

export function slotOf(time: number, slotMs: number): number {
  return Math.floor(time / slotMs) * slotMs;
}

export function messageDocument(message: HistoryMessage, slotMs: number): MessageDocument {
  const { id, stream, entity, table, time, arrival, position, sealed } = message;
  const slot = slotOf(time, slotMs);
  return { _id: id, stream, slot, entity, table, time, arrival, position, sealed: new Binary(sealed) };
}

/** A message that was not erased. */
export function messageOf(document: MessageDocument): HistoryMessage {
  const { _id: id, stream, entity, table = "", time = 0, arrival = 0, position = 0, sealed } = document;
  const bytes = new Uint8Array(sealed?.value() ?? []);
  return { id, table, stream, entity: entity ?? "", time, arrival, position, sealed: bytes };
}

/** Messages that one transaction of `expire` removes. */
const AT_ONCE = 1_000;

/** Places that one query looks up. */
const PLACES_AT_ONCE = 200;

/** The archive of messages, a document each; `commit` adds to it. */
export function mongoHistory(db: Db, transact: Transact): History {
  const messages = messagesOf(db);

  /** Moves what expired messages counted for into one number a slot. True: there may be more. */
  async function expireSome(filter: object): Promise<boolean> {
    const found = await messages.find(filter, { projection: { stream: 1, slot: 1 }, limit: AT_ONCE }).toArray();
    if (found.length === 0) return false;
    await transact(async (session) => {
      const ids = found.map(({ _id }) => _id);
      const there = await messages.find(byIds(ids), { session, projection: { stream: 1, slot: 1 } }).toArray();
      if (there.length === 0) return;
      await messages.deleteMany(byIds(ids), { session });
      const counts = new Map<string, { stream: string; slot: number; count: number }>();
      for (const { stream, slot } of there) {
        const id = `${slot}/${stream}`;
        counts.set(id, { stream, slot, count: (counts.get(id)?.count ?? 0) + 1 });
      }
      await expiredCountsOf(db).bulkWrite(
        Array.from(counts, ([_id, { stream, slot, count }]) => ({
          updateOne: { filter: { _id }, update: { $setOnInsert: { stream, slot }, $inc: { count } }, upsert: true },
        })),
        { session },
      );
    });
    return found.length === AT_ONCE;
  }

  return {
    async kept(ids) {
      if (ids.length === 0) return new Set();
      // A message that a change of primary may still take back is not kept: a repeat of it must not be answered as if it were.
      const options = { projection: { _id: 1 }, batchSize: ids.length + 1, readConcern: "majority" } as const;
      const found = await messages.find(byIds(ids), options).toArray();
      return new Set(found.map(({ _id }) => _id));
    },

    async countByStream(entities) {
      const counts = messages.aggregate<{ _id: string; count: number }>([
        { $match: { entity: { $in: [...entities] } } },
        { $group: { _id: "$stream", count: { $sum: 1 } } },
        { $sort: { _id: 1 } },
      ]);
      return new Map((await counts.toArray()).map(({ _id, count }) => [_id, count]));
    },

    async page(entity, after, limit) {
      const later =
        after === undefined
          ? {}
          : {
              $or: [
                { arrival: { $gt: after.arrival } },
                { arrival: after.arrival, position: { $gt: after.position } },
                { arrival: after.arrival, position: after.position, _id: { $gt: after.id } },
              ],
            };
      const from = after === undefined ? {} : { arrival: { $gte: after.arrival } };
      const found = messages.find({ $and: [{ entity, ...from }, later] }, { batchSize: limit + 1 });
      return (await found.sort({ arrival: 1, position: 1, _id: 1 }).limit(limit).toArray()).map(messageOf);
    },

    async at(entities, places) {
      const projection = { _id: 0, stream: 1, time: 1, arrival: 1, position: 1 } as const;
      const found: (Place & Pick<HistoryMessage, "stream" | "time">)[] = [];
      for (let first = 0; first < places.length; first += PLACES_AT_ONCE) {
        const asked = places.slice(first, first + PLACES_AT_ONCE);
        const either = asked.map(({ arrival, position }) => ({ entity: { $in: [...entities] }, arrival, position }));
        found.push(...(await messages.find<(typeof found)[number]>({ $or: either }, { projection }).toArray()));
      }
      return found;
    },

    ...groupedErasure({
      async erase(entities) {
        await messages.updateMany(
          { entity: { $in: [...entities] } },
          { $set: { entity: null }, $unset: { table: "", time: "", arrival: "", position: "", sealed: "" } },
        );
      },
      held: async (entities) => (await messages.distinct("entity", { entity: { $in: [...entities] } })) as EntityId[],
    }),

    async expire(before) {
      while (await expireSome({ arrival: { $lt: before } }));
      while (await expireSome({ entity: null, slot: { $lt: before } }));
    },
  };
}

export const slotCountCollections: readonly CollectionPlan[] = [
  { name: "expired_counts", indexes: [{ key: { stream: 1, slot: 1 } }] },
  { name: "streams", indexes: [] },
];

/** A stream that took messages. What came since the recorder last saved its slots is in the notes of touched slots. */
export interface StreamDocument {
  /** Its name. */
  readonly _id: string;
  /** Unix ms. Written outside transactions: concurrent commits would conflict over it. */
  readonly lastArrival: number;
}

export function streamsOf(db: Db): Collection<StreamDocument> {
  return db.collection<StreamDocument>("streams");
}

/** What is known of a slot besides the messages that are there. */
export interface ExpiredCount {
  /** Slot and stream. */
  readonly _id: string;
  readonly stream: string;
  readonly slot: number;
  /** What messages that are gone by retention counted for. */
  readonly count?: number;
  /** What the recorder last saved, all messages counted. */
  readonly saved?: number;
}

export function expiredCountsOf(db: Db): Collection<ExpiredCount> {
  return db.collection<ExpiredCount>("expired_counts");
}

/** Notes of touched slots that one look reads; what is left is found by the next one. */
const NOTES = 10_000;
const COUNTS_AT_ONCE = 4;

interface Touched {
  readonly stream: string;
  readonly slot: number;
  readonly notes: ObjectId[];
  /** The newest that the notes say. */
  arrival: number;
}

/** What `saved` needs to know of a count. */
interface Token {
  readonly notes: readonly ObjectId[];
  readonly arrival: number;
}

/**
 * Stream counts: how many messages the index holds for a stream and slot. Each commit leaves a note of the slots that it touched. The recorder
 * reads the notes of a slot and its count from one snapshot, then saves the count, then removes those notes: so a count that it saved contains every
 * message whose note it removed.
 */
export function mongoSlotCounts(db: Db, transact: Transact): Pick<SlotCounts, "unsaved" | "saved"> {
  const messages = messagesOf(db);
  const notes = touchedSlotsOf(db);
  const expired = expiredCountsOf(db);

  async function touched(filter: object): Promise<Touched[]> {
    const found = await notes.find(filter).sort({ slot: 1, stream: 1 }).limit(NOTES).toArray();
    const slots = new Map<string, Touched>();
    for (const { _id, stream, slot, arrival = slot } of found) {
      const key = `${slot}/${stream}`;
      const known = slots.get(key) ?? { stream, slot, notes: [], arrival };
      known.notes.push(_id);
      known.arrival = Math.max(known.arrival, arrival);
      slots.set(key, known);
    }
    return [...slots.values()];
  }

  /**
   * One note says as much as many. It is a new one: another recorder may have read those that are there already, to remove them with a count that lacks
   * what the newest of them is about.
   */
  async function thin(slots: readonly Touched[]): Promise<void> {
    const many = slots.filter((slot) => slot.notes.length > 1);
    if (many.length === 0) return;
    await notes.insertMany(many.map(({ stream, slot, arrival }) => ({ stream, slot, arrival })));
    await notes.deleteMany({ _id: { $in: many.flatMap((slot) => slot.notes) } });
  }

  /** The notes and both parts of the count, as `expire` moves messages from one part to the other. Undefined: the notes are not there any more. */
  function count({ stream, slot }: Touched): Promise<SlotCount | undefined> {
    return transact(async (session) => {
      const read = await notes
        .find({ slot, stream }, { session, batchSize: NOTES + 1 })
        .limit(NOTES)
        .toArray();
      if (read.length === 0) return undefined;
      const arrival = Math.max(...read.map((note) => note.arrival ?? slot));
      const token: Token = { notes: read.map(({ _id }) => _id), arrival };
      const kept = await messages.countDocuments({ stream, slot }, { session });
      const gone = await expired.findOne({ _id: `${slot}/${stream}` }, { session });
      return { stream, slot, count: kept + (gone?.count ?? 0), token };
    });
  }

  /** A note that is gone was removed by another recorder: the slot gets a new one, to be saved once more. */
  async function removeNotes({ stream, slot, count, token }: SlotCount): Promise<void> {
    const { notes: read, arrival } = token as Token;
    await streamsOf(db).updateOne({ _id: stream }, { $max: { lastArrival: arrival } }, { upsert: true });
    const _id = `${slot}/${stream}`;
    await expired.updateOne({ _id }, { $max: { saved: count }, $setOnInsert: { stream, slot } }, { upsert: true });
    const { deletedCount } = await notes.deleteMany({ _id: { $in: read } });
    if (deletedCount < read.length) await notes.insertOne({ stream, slot });
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
