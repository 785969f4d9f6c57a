import { Binary, type Collection, type Db, MaxKey } from "mongodb";
import { groupedErasure } from "../../async/grouped-calls.js";
import type { History, HistoryMessage, Place } from "../../entities/ports.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { countedSlot } from "../../metrics/stream-counts.js";
import { byIds, type CollectionPlan } from "./collection.js";
import type { Transact } from "./transaction.js";

const BY_ARRIVAL = { entity: 1, arrival: 1, position: 1, _id: 1 } as const;

export const historyCollections: readonly CollectionPlan[] = [
  {
    name: "messages",
    indexes: [
      { key: { stream: 1, slot: 1 } },
      { key: { entity: 1, slot: 1 } },
      { key: BY_ARRIVAL },
      { key: { arrival: 1 } },
    ],
  },
];

/** A message. An erased one keeps stream and slot, so that it is still counted. */
export interface MessageDocument {
  readonly _id: string;
  readonly stream: string;
  /** Start of the slot of its event time, Unix ms. */
  readonly slot: number;
  /** null: erased. */
  readonly entity: EntityId | null;
  readonly table?: string;
  readonly time?: number;
  readonly arrival?: number;
  readonly position?: number;
  readonly sealed?: Binary;
}

export function messagesOf(db: Db): Collection<MessageDocument> {
  return db.collection<MessageDocument>("messages");
}

export function messageDocument(message: HistoryMessage): MessageDocument {
  const { id, stream, entity, table, time, arrival, position, sealed } = message;
  return {
    _id: id,
    stream,
    slot: countedSlot(time),
    entity,
    table,
    time,
    arrival,
    position,
    sealed: new Binary(sealed),
  };
}

/** Returns a message that was not erased. */
export function messageOf(document: MessageDocument): HistoryMessage {
  const { _id: id, stream, entity, table = "", time = 0, arrival = 0, position = 0, sealed } = document;
  const bytes = new Uint8Array(sealed?.value() ?? []);
  return { id, table, stream, entity: entity ?? "", time, arrival, position, sealed: bytes };
}

/** Counts of a slot besides its stored messages. */
interface ExpiredCount {
  /** Slot and stream. */
  readonly _id: string;
  readonly stream: string;
  readonly slot: number;
  /** Messages removed by retention. */
  readonly count?: number;
  /** The count that the recorder last saved, of all messages. */
  readonly saved?: number;
}

export function expiredCountsOf(db: Db): Collection<ExpiredCount> {
  return db.collection<ExpiredCount>("expired_counts");
}

/** Messages removed by one `expire`. */
const AT_ONCE = 1_000;

/** Positions looked up by one query. */
const PLACES_AT_ONCE = 200;

/** The archive of messages, a document each; `commit` adds to it. */
export function mongoHistory(db: Db, transact: Transact): History {
  const messages = messagesOf(db);

  /** Moves the counts of expired messages into one number per slot. Returns true if there may be more. */
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
      // A message that a change of primary may roll back does not count: its repeat would be acknowledged without being
      // stored.
      const options = { projection: { _id: 1 }, batchSize: ids.length + 1, readConcern: "majority" } as const;
      const found = await messages.find(byIds(ids), options).toArray();
      return new Set(found.map(({ _id }) => _id));
    },

    async newestArrival(entities) {
      if (entities.length === 0) return undefined;
      const newest = { sort: { arrival: -1 }, projection: { arrival: 1 } } as const;
      return (await messages.findOne({ entity: { $in: [...entities] } }, newest))?.arrival;
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
      const found = messages.find({ entity }, { batchSize: limit + 2 }).sort({ arrival: 1, position: 1, _id: 1 });
      if (after !== undefined) {
        const { arrival, position, id: _id } = after;
        const last = new MaxKey();
        // Without a `max` the server reads to the end of the index.
        found
          .hint(BY_ARRIVAL)
          .min({ entity, arrival, position, _id })
          .max({ entity, arrival: last, position: last, _id: last });
      }
      const page = await found.limit(limit + 1).toArray();
      return page
        .map(messageOf)
        .filter(({ id }) => id !== after?.id)
        .slice(0, limit);
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

    expire: async (before) =>
      (await expireSome({ arrival: { $lt: before } })) || expireSome({ entity: null, slot: { $lt: before } }),
  };
}
