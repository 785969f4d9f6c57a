import { Binary, type Db, type Filter } from "mongodb";
import type { Ledger } from "../../deletions/ledger.js";
import { acceptQueue } from "./accept-queue.js";
import { type CollectionPlan, oneOf } from "./collection.js";
import { type DeletionDocument, deletionOf, deletions, deletionsOf, extended } from "./ledger-document.js";
import { expireUpTo, newestSequence } from "./ledger-sequence.js";
import { marks } from "./marks.js";

export const ledgerCollections: readonly CollectionPlan[] = [deletions, marks];

/** Deletion requests in the database of the ledger. Each change is one write to one document, which says what it expects to find. */
export function mongoLedger(db: Db): Ledger {
  const requests = deletionsOf(db);

  return {
    accept: acceptQueue(db),

    async find(requestId) {
      const found = await requests.findOne({ _id: requestId });
      return found === null ? undefined : deletionOf(found);
    },

    async openFor(identity) {
      const [newest] = await requests.find({ identity, open: true }).sort({ sequence: -1 }).limit(1).toArray();
      return newest && deletionOf(newest);
    },

    async openOver(identities) {
      if (identities.length === 0) return [];
      const over = requests.find({ "suppressed.hash": oneOf(identities), open: true }).sort({ sequence: 1 });
      return (await over.toArray()).map(deletionOf);
    },

    async extend(requestId, revision, extension) {
      const kept = await requests.findOne({ _id: requestId });
      if (kept === null || !kept.open || kept.revision !== revision) return undefined;
      const changed = extended(kept, extension);
      const { matchedCount } = await requests.updateOne({ _id: requestId, revision, open: true }, { $set: changed });
      return matchedCount > 0 ? deletionOf({ ...kept, ...changed }) : undefined;
    },

    async open({ after, limit, due }) {
      const last = after === undefined ? null : await requests.findOne({ _id: after });
      const open = requests
        .find({
          open: true,
          ...(last === null ? {} : { sequence: { $gt: last.sequence } }),
          ...(due === undefined ? {} : isDue(due)),
        })
        .sort({ sequence: 1 })
        .limit(limit);
      return (await open.toArray()).map(deletionOf);
    },

    countOpen: ({ attempts } = { attempts: 0 }) =>
      requests.countDocuments({ open: true, ...(attempts > 0 ? { attempts: { $gte: attempts } } : {}) }),

    async claim(requestId, runner, now, until) {
      // Of several runners at once most can tell without a write.
      const kept = await requests.findOne({ _id: requestId });
      const { runnerUntil = 0, runnerSince = 0 } = kept ?? {};
      if (kept === null || !kept.open || (kept.runner !== runner && runnerUntil > now && runnerSince <= now))
        return false;
      const { matchedCount } = await requests.updateOne(
        { _id: requestId, open: true, $or: [{ runner }, ...isFree(now)] },
        { $set: { runner, runnerSince: now, runnerUntil: until } },
      );
      return matchedCount > 0;
    },

    async release(requestId, runner) {
      await requests.updateOne({ _id: requestId, runner }, { $set: { runner: null, runnerUntil: 0 } });
    },

    async note(requestId, revision, { done, attempts, notBefore, now }) {
      const noted = { done, attempts, notBefore, notedAt: now };
      await requests.updateOne({ _id: requestId, revision, open: true }, { $set: noted });
    },

    async wake(requestIds) {
      if (requestIds.length === 0) return;
      await requests.updateMany({ _id: oneOf(requestIds), open: true }, { $set: { notBefore: 0 } });
    },

    async complete(requestId, revision, at) {
      const { matchedCount } = await requests.updateOne(
        { _id: requestId, revision, open: true },
        { $set: { open: false, completedAt: at, sealed: NOTHING, runner: null, runnerUntil: 0 } },
      );
      return matchedCount > 0 || (await requests.findOne({ _id: requestId }))?.open === false;
    },

    async settledSequence() {
      // The newest first: what is accepted between the two reads is above it, and does not count as settled.
      const newest = await newestSequence(db);
      const [oldest] = await requests.find({ open: true }).sort({ sequence: 1 }).limit(1).toArray();
      return oldest === undefined ? newest : Math.min(newest, oldest.sequence - 1);
    },

    async since(sequence, limit) {
      const later = requests
        .find({ sequence: { $gt: sequence } })
        .sort({ sequence: 1 })
        .limit(limit);
      return (await later.toArray()).map((found) => ({ sequence: found.sequence, deletion: deletionOf(found) }));
    },

    expire: (before, note) => expireUpTo(db, before, note),
  };
}

/** A lease that has ended, or began after `now`, when the clock had not yet been set back. */
function isFree(now: number): Filter<DeletionDocument>[] {
  return [{ runnerUntil: { $lte: now } }, { runnerSince: { $gt: now } }];
}

function isDue(now: number): Filter<DeletionDocument> {
  return { $and: [{ $or: [{ notBefore: { $lte: now } }, { notedAt: { $gt: now } }] }, { $or: isFree(now) }] };
}

const NOTHING = new Binary(new Uint8Array());
