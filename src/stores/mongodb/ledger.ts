import { Binary, type ClientSession, type Db, type Filter, type UpdateFilter } from "mongodb";
import { groupedCalls, groupedReads } from "../../async/grouped-calls.js";
import type { Ledger } from "../../deletions/ports.js";
import type { EntityId } from "../../entities/entity.js";
import type { IdentityHash } from "../../entities/identity.js";
import type { Suppression } from "../../entities/ports.js";
import { randomId } from "../../names.js";
import { acceptDeletions, newestSequence } from "./accept-deletions.js";
import { byIds, type CollectionPlan } from "./collection.js";
import type { StoreParts } from "./connection.js";
import { entityCollectionsOf } from "./entity-document.js";
import { addKeys } from "./entity-keys.js";
import {
  type DeletionDocument,
  deletionOf,
  deletions,
  deletionsOf,
  extended,
  newestCutOffs,
} from "./ledger-document.js";
import { FORGOTTEN, marks, RECEIPT_KEY, raiseTo, textOnce } from "./marks.js";
import { Conflict, unlessConflict } from "./transaction.js";

export const ledgerCollections: readonly CollectionPlan[] = [deletions, marks];

/** Requests that one write of `expire` removes. */
const AT_ONCE = 1_000;

/** Deletion requests in the database of the ledger. Most changes are one write to one document, which says what it expects to find. */
export function mongoLedger(parts: StoreParts): Ledger {
  const { data, ledger: db, transact } = parts;
  const requests = deletionsOf(db);
  const { identities } = entityCollectionsOf(data);

  async function read(ids: readonly string[]): Promise<Map<string, DeletionDocument>> {
    const found = await requests.find(byIds<DeletionDocument>(ids), { batchSize: ids.length + 1 }).toArray();
    return new Map(found.map((document) => [document._id, document]));
  }

  /** Concurrent runs share their reads. */
  const documents = groupedReads(read, { most: 1_000, atOnce: 2 });

  /** Open requests that name any of these identities, in order of acceptance. */
  const openOver = groupedCalls(
    (hashes: readonly IdentityHash[]) =>
      requests.find({ "suppressed.hash": { $in: [...hashes] }, open: true }, { sort: { sequence: 1 } }).toArray(),
    { most: 1_000, atOnce: 2, afterRound: true },
  );

  /** Concurrent runs share their writes, each to its own document, and look together at what the documents say then. */
  const updated = groupedCalls(
    async (updates: readonly Update[]) => {
      await requests.bulkWrite([...updates], { ordered: false });
      return read(updates.map(({ updateOne }) => updateOne.filter._id));
    },
    { most: 1_000, atOnce: 2, afterRound: true },
  );

  /** A commit that binds the identity at this moment conflicts, as `acceptDeletions` says. */
  async function hold(
    identity: IdentityHash,
    { sealer }: DeletionDocument,
    holder: EntityId | undefined,
    session: ClientSession,
  ) {
    if ((await identities.findOne({ _id: identity }, { session }))?.entity !== holder) throw new Conflict();
    const update = { $set: { entity: sealer }, $inc: { asked: 1 } };
    await identities.updateOne({ _id: identity }, update, { session, upsert: true });
  }

  return {
    accept: acceptDeletions(parts),

    async find(requestId) {
      const found = (await documents([requestId])).get(requestId);
      return found === undefined ? undefined : deletionOf(found);
    },

    async openFor(identity) {
      const [newest] = await requests.find({ identity, open: true }).sort({ sequence: -1 }).limit(1).toArray();
      return newest && deletionOf(newest);
    },

    async openOver(identities) {
      if (identities.length === 0) return [];
      const own = new Set(identities);
      const over = await openOver(identities);
      return over.filter(({ suppressed }) => suppressed.some(({ hash }) => own.has(hash))).map(deletionOf);
    },

    async extend(requestId, revision, extension, late) {
      let result: DeletionDocument | undefined;
      const work = async (session: ClientSession) => {
        const kept = await requests.findOne({ _id: requestId, revision, open: true }, { session });
        if (kept === null) throw new Conflict();
        if (extension.cutOff !== undefined) await hold(kept.identity, kept, extension.cutOff.holder, session);
        const { sealed } = extension;
        if (sealed !== undefined) {
          await addKeys(db, parts.wrapping, new Map([[sealed.sealer, sealed.sealerKey]]), session);
        }
        const changed = extended(kept, extension);
        await requests.updateOne({ _id: requestId }, { $set: changed }, { session });
        result = { ...kept, ...changed };
      };
      const isKept = await unlessConflict(transact, work, late);
      return isKept && result !== undefined ? deletionOf(result) : undefined;
    },

    async open({ after, limit, due, waiting }) {
      const last = after === undefined ? null : await requests.findOne({ _id: after });
      const filter = {
        open: true,
        ...(last === null ? {} : { sequence: { $gt: last.sequence } }),
        ...(due === undefined ? {} : isDue(due)),
        ...(waiting ? { notBefore: { $gt: 0 } } : {}),
      };
      return (await requests.find(filter, { sort: { sequence: 1 }, limit }).toArray()).map(deletionOf);
    },

    countOpen: ({ attempts } = { attempts: 0 }) =>
      requests.countDocuments({ open: true, ...(attempts > 0 ? { attempts: { $gte: attempts } } : {}) }),

    async lease(requestId, runner, now, until) {
      const filter = { _id: requestId, open: true, $or: [{ runner }, ...isFree(now)] };
      const update = { $set: { runner, runnerSince: now, runnerUntil: until } };
      const kept = await updated([{ updateOne: { filter, update } }]);
      const { open, runner: holder, runnerUntil } = kept.get(requestId) ?? {};
      return open === true && holder === runner && runnerUntil === until;
    },

    async release(requestId, runner) {
      await requests.updateOne({ _id: requestId, runner }, { $set: { runner: null, runnerUntil: 0 } });
    },

    async note(requestId, revision, { done, times, attempts, problem = null, notBefore, now }) {
      const noted = { done, ...(times === undefined ? {} : { times }), attempts, problem, notBefore, notedAt: now };
      await requests.updateOne({ _id: requestId, revision, open: true }, { $set: noted });
    },

    async wake(requestIds) {
      if (requestIds.length === 0) return;
      await requests.updateMany({ ...byIds<DeletionDocument>(requestIds), open: true }, { $set: { notBefore: 0 } });
    },

    async complete(requestId, revision, at, times) {
      const filter = { _id: requestId, revision, open: true };
      // Of two calls at once that complete it, the mark of one stays.
      const mark = randomId();
      const ended = { open: false, completedAt: at, problem: null, sealed: NOTHING, runner: mark, runnerUntil: 0 };
      const update = { $set: { ...ended, ...(times === undefined ? {} : { times }) } };
      const kept = (await updated([{ updateOne: { filter, update } }])).get(requestId);
      if (kept?.open !== false) return "extended";
      return kept.runner === mark ? "completed" : "completed before";
    },

    async list({ state, newestFirst, after, limit }) {
      const last = after === undefined ? undefined : await requests.findOne({ _id: after });
      if (last === null) return [];
      const filter = {
        ...(state === "all" ? {} : { open: state === "open" }),
        ...(last === undefined ? {} : { sequence: newestFirst ? { $lt: last.sequence } : { $gt: last.sequence } }),
      };
      const sort = { sequence: newestFirst ? -1 : 1 } as const;
      return (await requests.find(filter, { sort, limit }).toArray()).map(deletionOf);
    },

    count: (state) =>
      state === "all"
        ? requests.countDocuments({}, { hint: "_id_" })
        : requests.countDocuments({ open: state === "open" }),

    receiptKey: (fresh) => textOnce(db, RECEIPT_KEY, fresh),

    async settledSequence() {
      // The newest first: what is accepted between the two reads is above it, and does not count as settled.
      const newest = await newestSequence(db);
      const [oldest] = await requests.find({ open: true }).sort({ sequence: 1 }).limit(1).toArray();
      return oldest === undefined ? newest : Math.min(newest, oldest.sequence - 1);
    },

    async since(sequence, limit) {
      const later = requests.find({ sequence: { $gt: sequence } }, { sort: { sequence: 1 }, limit });
      return (await later.toArray()).map((found) => ({ sequence: found.sequence, deletion: deletionOf(found) }));
    },

    /** The newest number is noted before the removal, so that it is never given again. */
    async expire(before, note) {
      const old = { open: false, completedAt: { $lt: before } };
      const newest = await requests.findOne(old, { sort: { sequence: -1 } });
      if (newest === null) return;
      await note(newest.sequence);
      await raiseTo(db, FORGOTTEN, newest.sequence);
      for (;;) {
        const some = { projection: { _id: 1 }, limit: AT_ONCE } as const;
        const gone = await requests.find({ ...old, sequence: { $lte: newest.sequence } }, some).toArray();
        if (gone.length === 0) return;
        await requests.deleteMany(byIds(gone.map(({ _id }) => _id)));
      }
    },
  };
}

interface Update {
  readonly updateOne: {
    readonly filter: Filter<DeletionDocument> & { readonly _id: string };
    readonly update: UpdateFilter<DeletionDocument>;
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

/** Who must not come back, from the requests of the ledger themselves. */
export function mongoSuppression(db: Db): Suppression {
  const deletions = deletionsOf(db);

  return {
    cutOffs: (hashes) => newestCutOffs(db, hashes),

    async erased(ids) {
      const asked = new Set(ids);
      if (asked.size === 0) return new Set();
      const over = deletions.find({ entities: { $in: [...asked] } }).project({ _id: 0, entities: 1 });
      const named = ((await over.toArray()) as { entities: string[] }[]).flatMap(({ entities }) => entities);
      return new Set(named.filter((id) => asked.has(id)));
    },
  };
}
