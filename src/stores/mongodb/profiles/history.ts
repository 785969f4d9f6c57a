import { Binary, type Collection, type Db } from "mongodb";
import { groupedErasure } from "../../../async/grouped-calls.js";
import type { History, HistoryMessage, Place } from "../../../entities/ports.js";
import { byIds, type CollectionPlan } from "../collection.js";

const BY_ARRIVAL = { entity: 1, arrival: 1, position: 1, _id: 1 } as const;

export const historyCollections: readonly CollectionPlan[] = [
  { name: "messages", indexes: [{ key: BY_ARRIVAL }, { key: { arrival: 1 } }] },
  { name: "lasting_message_ids", indexes: [] },
];

/** Id of a message that is never stored again. Neither `erase` nor `expire` removes it. */
export interface LastingIdDocument {
  readonly _id: string;
}

export function lastingIdsOf(db: Db): Collection<LastingIdDocument> {
  return db.collection<LastingIdDocument>("lasting_message_ids");
}

export interface MessageDocument extends Omit<HistoryMessage, "id" | "sealed"> {
  readonly _id: string;
  readonly sealed: Binary;
}

export function messagesOf(db: Db): Collection<MessageDocument> {
  return db.collection<MessageDocument>("messages");
}

export function messageDocument({ id, sealed, ...message }: HistoryMessage): MessageDocument {
  return { _id: id, ...message, sealed: new Binary(sealed) };
}

export function messageOf({ _id, sealed, ...message }: MessageDocument): HistoryMessage {
  return { id: _id, ...message, sealed: new Uint8Array(sealed.value()) };
}

/** Messages removed by one `expire`. */
const MESSAGES_PER_STEP = 1_000;

/** Positions looked up by one query. */
const PLACES_AT_ONCE = 200;

/** The archive of messages, a document each; `commit` adds to it. */
export function mongoHistory(db: Db): History {
  const messages = messagesOf(db);
  const lastingIds = lastingIdsOf(db);

  return {
    async storedIds(ids) {
      if (ids.length === 0) return new Set();
      // A message that a change of primary may roll back does not count: its repeat would be acknowledged without being
      // stored.
      const options = { projection: { _id: 1 }, batchSize: ids.length + 1, readConcern: "majority" } as const;
      const [stored, lasting] = await Promise.all([
        messages.find(byIds(ids), options).toArray(),
        lastingIds.find(byIds(ids), options).toArray(),
      ]);
      return new Set([...stored, ...lasting].map(({ _id }) => _id));
    },

    async countByStream(entities) {
      const counts = messages.aggregate<{ _id: string; count: number }>([
        { $match: { entity: { $in: [...entities] } } },
        { $group: { _id: "$stream", count: { $sum: 1 } } },
        { $sort: { _id: 1 } },
      ]);
      return new Map((await counts.toArray()).map(({ _id, count }) => [_id, count]));
    },

    async page(entities, after, limit) {
      const { arrival = -1, position = -1, id = "" } = after ?? {};
      const isAfter = {
        $or: [{ arrival: { $gt: arrival } }, { position: { $gt: position } }, { position, _id: { $gt: id } }],
      };
      // The server merges the ranges of the index that begin at `arrival`.
      const page = messages.find(
        { entity: { $in: [...entities] }, arrival: { $gte: arrival }, ...isAfter },
        { sort: { arrival: 1, position: 1, _id: 1 }, limit, batchSize: limit + 1, hint: BY_ARRIVAL },
      );
      return (await page.toArray()).map(messageOf);
    },

    async at(entities, places) {
      const projection = { _id: 0, stream: 1, time: 1, arrival: 1, position: 1 } as const;
      const found: (Place & Pick<HistoryMessage, "stream" | "time">)[] = [];
      for (let first = 0; first < places.length; first += PLACES_AT_ONCE) {
        const requested = places.slice(first, first + PLACES_AT_ONCE);
        const either = requested.map(({ arrival, position }) => ({
          entity: { $in: [...entities] },
          arrival,
          position,
        }));
        found.push(...(await messages.find<(typeof found)[number]>({ $or: either }, { projection }).toArray()));
      }
      return found;
    },

    ...groupedErasure({
      async erase(entities) {
        await messages.deleteMany({ entity: { $in: [...entities] } });
      },
      held: (entities) => messages.distinct("entity", { entity: { $in: [...entities] } }),
    }),

    async expire(before) {
      const old = { arrival: { $lt: before } };
      const found = await messages.find(old, { projection: { _id: 1 }, limit: MESSAGES_PER_STEP }).toArray();
      // A message with one of these ids may be stored again after another call has removed the old one.
      if (found.length > 0) await messages.deleteMany({ ...byIds(found.map(({ _id }) => _id)), ...old });
      return found.length === MESSAGES_PER_STEP;
    },
  };
}
