import { randomBytes } from "node:crypto";
import type { Db, Filter } from "mongodb";
import type { History } from "../../entities/history.js";
import { duplicatesOf, oneOf } from "./collection.js";
import {
  FILTER_VALUES,
  historyDocuments,
  messageOf,
  type PendingDocument,
  pendingDocument,
  piecesOf,
} from "./history-documents.js";
import { type AtStep, Settlements } from "./settlements.js";

type Order = Pick<PendingDocument, "_id" | "arrival" | "position">;

/** Each round of an append needs another writer or remover of the same message in that very moment. */
const ROUNDS = 20;

/**
 * The archive of messages, beside the stream counts. `slotMs` is the slot of a stream.
 *
 * A message is pending while it lies among the pending ones, no settlement has taken it, and the archive does not hold it: one
 * that was appended again after it was settled is a leftover, and goes when it is met.
 */
export function mongoHistory(db: Db, slotMs: number, atStep: AtStep = () => {}): History {
  const { pending, archive } = historyDocuments(db);
  const settlements = new Settlements(db, slotMs, atStep);

  /** Those of them that are pending indeed; leftovers are removed. */
  async function withoutSettled<T extends Pick<PendingDocument, "_id" | "append">>(found: readonly T[]): Promise<T[]> {
    const settled = new Set<string>();
    for (const piece of piecesOf(found.map(({ _id }) => _id))) {
      const archived = await archive.find({ _id: oneOf(piece) }, { projection: { _id: 1 } }).toArray();
      for (const { _id } of archived) settled.add(_id);
    }
    for (const piece of piecesOf(found.filter(({ _id }) => settled.has(_id)))) {
      const appends = [...new Set(piece.map(({ append }) => append))];
      await pending.deleteMany({ _id: oneOf(piece.map(({ _id }) => _id)), append: oneOf(appends), batch: null });
    }
    return found.filter(({ _id }) => !settled.has(_id));
  }

  /** Finishes the settlements that have taken messages of this kind. */
  async function finishTaken(which: Filter<PendingDocument>): Promise<void> {
    const taken = { ...which, batch: { $ne: null } };
    await settlements.finishFor(await pending.find(taken, { projection: { batch: 1 } }).toArray());
  }

  return {
    async append(messages) {
      const append = randomBytes(12).toString("base64url");
      let left = messages.map((message) => pendingDocument(message, append));
      for (let round = 0; left.length > 0; round += 1) {
        if (round === ROUNDS) throw new Error("The same messages were appended and removed again and again");
        left = await insertOrReplace(left);
      }
    },

    async find(ids) {
      const found = new Map<string, { entity: string; settled: boolean }>();
      for (const piece of piecesOf(ids)) {
        const which = { _id: oneOf(piece) };
        // In this order: a message is put into the archive before it is removed here.
        const waiting = await pending.find(which, { projection: { entity: 1, batch: 1 } }).toArray();
        const taken = waiting.filter(({ batch }) => batch !== null);
        if (taken.length > 0) await settlements.finishFor(taken);
        const archived = await archive.find(which, { projection: { entity: 1 } }).toArray();
        for (const { _id, entity, batch } of waiting) found.set(_id, { entity, settled: batch !== null });
        for (const { _id, entity } of archived) found.set(_id, { entity, settled: true });
      }
      return found;
    },

    async pending(before, limit) {
      await settlements.finishBefore(before);
      for (;;) {
        const found = await pending
          .find({ arrival: { $lt: before }, batch: null })
          .sort({ arrival: 1, position: 1, _id: 1 })
          .limit(limit)
          .toArray();
        const left = await withoutSettled(found);
        if (left.length > 0 || found.length === 0) return left.map(messageOf);
      }
    },

    async pendingFor(hashes, entities) {
      const found = new Map<string, PendingDocument>();
      const add = async (which: Filter<PendingDocument>) => {
        for (const message of await pending.find({ ...which, batch: null }).toArray()) found.set(message._id, message);
      };
      for (const piece of piecesOf(hashes)) await add({ hashes: oneOf(piece) });
      for (const piece of piecesOf(entities)) await add({ entity: oneOf(piece) });
      return (await withoutSettled([...found.values()])).sort(byArrival).map(messageOf);
    },

    settle: (ids) => settlements.settle(ids),

    async drop(ids) {
      // What a settlement has taken is settled.
      for (const piece of piecesOf(ids)) await pending.deleteMany({ _id: oneOf(piece), batch: null });
    },

    async erase(entities) {
      for (const piece of piecesOf(entities)) {
        const entity = oneOf(piece);
        await pending.deleteMany({ entity, batch: null });
        await finishTaken({ entity });
        await archive.deleteMany({ entity });
      }
    },

    async holds(entities) {
      for (const piece of piecesOf(entities)) {
        const entity = oneOf(piece);
        const waiting = await pending.find({ entity }, { projection: { append: 1, batch: 1 } }).toArray();
        if (waiting.some(({ batch }) => batch !== null)) return true;
        if ((await withoutSettled(waiting)).length > 0) return true;
        if ((await archive.findOne({ entity }, { projection: { _id: 1 } })) !== null) return true;
      }
      return false;
    },

    async expire(before) {
      const old = { arrival: { $lt: before } };
      await finishTaken(old);
      for (;;) {
        const found = await archive
          .find(old, { projection: { _id: 1 } })
          .sort({ arrival: 1 })
          .limit(FILTER_VALUES)
          .toArray();
        if (found.length > 0) await archive.deleteMany({ _id: oneOf(found.map(({ _id }) => _id)), ...old });
        if (found.length < FILTER_VALUES) return;
      }
    },
  };

  /** Keeps what no settlement has taken; hands out those that somebody removed in between. */
  async function insertOrReplace(documents: PendingDocument[]): Promise<PendingDocument[]> {
    const there = await pending.insertMany(documents, { ordered: false }).then(() => new Set<number>(), duplicatesOf);
    if (there.size === 0) return [];
    const again = documents.filter((_, index) => there.has(index));
    const { matchedCount } = await pending.bulkWrite(
      again.map((document) => ({
        replaceOne: { filter: { _id: document._id, batch: null }, replacement: withoutId(document) },
      })),
    );
    if (matchedCount === again.length) return [];
    const ids = again.map(({ _id }) => _id);
    const kept = await pending.find({ _id: oneOf(ids) }, { projection: { _id: 1 } }).toArray();
    const keptIds = new Set(kept.map(({ _id }) => _id));
    return again.filter(({ _id }) => !keptIds.has(_id));
  }
}

function withoutId({ _id, ...rest }: PendingDocument): Omit<PendingDocument, "_id"> {
  return rest;
}

function byArrival(a: Order, b: Order): number {
  return a.arrival - b.arrival || a.position - b.position || (a._id < b._id ? -1 : 1);
}
