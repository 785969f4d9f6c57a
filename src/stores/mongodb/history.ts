import type { Db, Filter } from "mongodb";
import type { History } from "../../entities/history.js";
import { oneOf } from "./collection.js";
import { mongoAppends, notTaken, type OfAppend } from "./history-appends.js";
import { FILTER_VALUES, historyDocuments, messageOf, type PendingDocument, piecesOf } from "./history-documents.js";
import { pendingMessages } from "./history-pending.js";
import { RecentMessages } from "./history-recent.js";
import { type AtStep, Settlements } from "./settlements.js";

type Order = Pick<PendingDocument, "_id" | "arrival" | "position">;

/**
 * The archive of messages, beside the stream counts. `slotMs` is the slot of a stream.
 *
 * A message is pending while it lies among the pending ones, no settlement has taken it, and the archive does not hold it: one
 * that was appended again after it was settled is a leftover, and goes when it is met.
 */
export function mongoHistory(db: Db, slotMs: number, atStep: AtStep = () => {}): History {
  const { pending, archive } = historyDocuments(db);
  const appends = mongoAppends(db);
  const recent = new RecentMessages();
  const settlements = new Settlements({ db, appends, recent, slotMs, atStep });
  const messages = pendingMessages({ db, appends, recent, settlements, atStep });

  const found = (which: Filter<PendingDocument>): Promise<OfAppend[]> =>
    pending.find(which, { projection: { append: 1 } }).toArray();

  /** Those of them that the archive does not hold; the others are removed. */
  async function withoutSettled<T extends OfAppend>(waiting: readonly T[]): Promise<T[]> {
    const settled = new Set<string>();
    for (const piece of piecesOf(waiting.map(({ _id }) => _id))) {
      const archived = await archive.find({ _id: oneOf(piece) }, { projection: { _id: 1 } }).toArray();
      for (const { _id } of archived) settled.add(_id);
    }
    if (settled.size > 0) await messages.remove(waiting.filter(({ _id }) => settled.has(_id)));
    return waiting.filter(({ _id }) => !settled.has(_id));
  }

  return {
    append: (appended) => messages.append(appended),

    async find(ids) {
      const kept = new Map<string, { entity: string; settled: boolean }>();
      for (const piece of piecesOf(ids)) {
        const which = { _id: oneOf(piece) };
        // In this order: a message is put into the archive before it is removed here.
        const waiting = await pending.find(which, { projection: { entity: 1, append: 1 } }).toArray();
        const taken = await appends.takenOf(waiting);
        await settlements.finish(taken);
        const free = new Set(notTaken(waiting, taken).map(({ _id }) => _id));
        const archived = await archive.find(which, { projection: { entity: 1 } }).toArray();
        for (const { _id, entity } of waiting) kept.set(_id, { entity, settled: !free.has(_id) });
        for (const { _id, entity } of archived) kept.set(_id, { entity, settled: true });
      }
      return kept;
    },

    async pending(before, limit) {
      await settlements.finish(await appends.takenBefore(before));
      const old = { aside: { $exists: false }, arrival: { $lt: before } };
      for (;;) {
        const waiting = await pending.find(old).sort({ arrival: 1, position: 1, _id: 1 }).limit(limit).toArray();
        if (waiting.length === 0) break;
        const taken = await appends.takenOf(waiting);
        await settlements.finish(taken);
        const left = await withoutSettled(notTaken(waiting, taken));
        if (left.length > 0) return left.map(messageOf);
      }
      await appends.forget(before);
      return [];
    },

    async pendingFor(hashes, entities) {
      const waiting = new Map<string, PendingDocument>();
      const add = async (which: Filter<PendingDocument>) => {
        for (const message of await pending.find(which).toArray()) waiting.set(message._id, message);
      };
      for (const piece of piecesOf(hashes)) await add({ hashes: oneOf(piece) });
      for (const piece of piecesOf(entities)) await add({ entity: oneOf(piece) });
      const all = [...waiting.values()];
      const left = await withoutSettled(notTaken(all, await appends.takenOf(all)));
      return left.sort(byArrival).map(messageOf);
    },

    settle: (ids) => settlements.settle(ids),

    async setAside(ids) {
      for (const piece of piecesOf(ids)) await pending.updateMany({ _id: oneOf(piece) }, { $set: { aside: true } });
    },

    countAside: () => pending.countDocuments({ aside: true }),

    async drop(ids) {
      for (const piece of piecesOf(ids)) await messages.remove(await found({ _id: oneOf(piece) }));
    },

    async erase(entities) {
      for (const piece of piecesOf(entities)) {
        const entity = oneOf(piece);
        // What is half settled is settled first, and so counted.
        await messages.remove(await found({ entity }));
        await archive.deleteMany({ entity });
      }
    },

    async holds(entities) {
      for (const piece of piecesOf(entities)) {
        const entity = oneOf(piece);
        const waiting = await found({ entity });
        const free = notTaken(waiting, await appends.takenOf(waiting));
        if (free.length < waiting.length || (await withoutSettled(free)).length > 0) return true;
        if ((await archive.findOne({ entity }, { projection: { _id: 1 } })) !== null) return true;
      }
      return false;
    },

    async expire(before) {
      const old = { arrival: { $lt: before } };
      await messages.remove(await found({ aside: true, ...old }));
      await settlements.finish(await appends.takenOf(await found(old)));
      for (;;) {
        const archived = await archive
          .find(old, { projection: { _id: 1 } })
          .sort({ arrival: 1 })
          .limit(FILTER_VALUES)
          .toArray();
        if (archived.length > 0) await archive.deleteMany({ _id: oneOf(archived.map(({ _id }) => _id)), ...old });
        if (archived.length < FILTER_VALUES) return;
      }
    },
  };
}

function byArrival(a: Order, b: Order): number {
  return a.arrival - b.arrival || a.position - b.position || (a._id < b._id ? -1 : 1);
}
