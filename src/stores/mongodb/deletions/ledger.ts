import type { Document, Filter, UpdateFilter } from "mongodb";
import { groupedCalls, groupedReads } from "../../../async/grouped-calls.js";
import { MAX_WAIT_MS, NOTIFICATION, STUCK_ATTEMPTS } from "../../../deletions/deletion.js";
import type { Ledger, ListedState, OpenReason } from "../../../deletions/ports.js";
import { randomId } from "../../../ids.js";
import { FORGOTTEN, RECEIPT_KEY } from "../../database-facts.js";
import { byIds, type CollectionPlan } from "../collection.js";
import { committedRead, MAJORITY, type ReadOptions } from "../committed-read.js";
import type { StoreDependencies } from "../connection.js";
import { factCollection, factsOf } from "../database-facts.js";
import { acceptDeletions } from "./accept-deletions.js";
import { type DeletionDocument, deletionOf as deletionFrom, deletions, deletionsOf } from "./ledger-document.js";
import { newestNumber, numberDeletions } from "./number-deletions.js";
import { erasedIdentities, erasedIdentitiesOf } from "./suppression.js";

export const ledgerCollections: readonly CollectionPlan[] = [deletions, erasedIdentities, factCollection];

/** Requests removed by one step of `expire`. */
const REQUESTS_PER_STEP = 100;

/**
 * Deletion requests in the database of the ledger. Every change is one conditional write to one document, except an
 * acceptance.
 */
export function mongoLedger(dependencies: StoreDependencies): Ledger {
  const { ledger: db, wrapping } = dependencies;
  const requests = deletionsOf(db);
  const facts = factsOf(db);
  const deletionOf = (document: DeletionDocument) => deletionFrom(document, wrapping);

  const committed = <T>(read: (options: ReadOptions) => Promise<T>) => committedRead(db, read);

  async function read(ids: readonly string[], options = {}): Promise<Map<string, DeletionDocument>> {
    const batchSize = ids.length + 1;
    const found = await requests.find(byIds<DeletionDocument>(ids), { batchSize, ...options }).toArray();
    return new Map(found.map((document) => [document._id, document]));
  }

  /** Concurrent requests share their reads. */
  const documents = groupedReads((ids: readonly string[]) => committed((options) => read(ids, options)), {
    most: 1_000,
    atOnce: 2,
  });

  /** Concurrent runs share their writes, each to its own document, and the following read of the documents. */
  const updated = groupedCalls(
    async (updates: readonly Update[]) => {
      await requests.bulkWrite([...updates], { ordered: false });
      return read(updates.map(({ updateOne }) => updateOne.filter._id));
    },
    { most: 1_000, atOnce: 2, afterRound: true },
  );

  return {
    accept: acceptDeletions(dependencies),

    async find(requestId) {
      const found = (await documents([requestId])).get(requestId);
      return found === undefined ? undefined : deletionOf(found);
    },

    /**
     * A run of a request never misses an earlier one: of two concurrent acceptances over one identity, the later waits
     * for the commit of the earlier (`addErasedIdentities`), and only then gets its `sequence` and can be leased.
     */
    async firstOpen(identities, own) {
      const filter = { open: true, hashes: { $in: [...identities] }, isEmpty: { $in: [false, null] } };
      const inOrder = { sort: { sequence: 1 }, limit: 1, projection: { sequence: 1 } } as const;
      const [first] = await committed((options) => requests.find(filter, { ...inOrder, ...options }).toArray());
      if (first === undefined || own === undefined || first._id === own) return first?._id;
      const isEarlier = { _id: own, sequence: { $lt: first.sequence } };
      return (await requests.countDocuments(isEarlier)) > 0 ? own : first._id;
    },

    async due(now, nextTarget, limit) {
      const next = calls(nextTarget);
      const filter = { $or: whenDue(now).map((notBefore) => ({ ...next, notBefore })) };
      const options = { sort: { notBefore: 1, sequence: 1 }, limit, projection: { _id: 1 } } as const;
      return (await requests.find(filter, options).toArray()).map(({ _id }) => _id);
    },

    async lease(requestId, runner, now, until) {
      const isDue = { $or: whenDue(now).map((notBefore) => ({ notBefore })) };
      const filter = { _id: requestId, $and: [awaitsRun, isDue] };
      const update = { $set: { runner, notBefore: until } };
      const stored = (await updated([{ updateOne: { filter, update } }])).get(requestId);
      return stored?.runner === runner && stored.notBefore === until ? deletionOf(stored) : undefined;
    },

    async renew(requestId, runner, until) {
      await requests.updateOne({ _id: requestId, runner }, { $set: { notBefore: until } });
    },

    async release(requestId, runner, { done, times, notify, attempts, problem = null, nextTarget = null, notBefore }) {
      const $set = { done, times, notify, attempts, problem, nextTarget, notBefore, runner: null };
      await requests.updateOne({ _id: requestId, runner }, { $set });
    },

    async wake(requestIds) {
      const filter = { ...byIds<DeletionDocument>(requestIds), ...awaitsRun, runner: null };
      await requests.updateMany(filter, { $set: { notBefore: 0 } });
    },

    async wakeWaitingFor(target) {
      const filter = { ...calls(target), notBefore: { $gt: 0 }, runner: null };
      return (await requests.updateMany(filter, { $set: { notBefore: 0 } })).modifiedCount;
    },

    async clearOtherTargets(configured) {
      // A process of version 1.0.0 that is still running stores an empty name for none.
      const filter = { open: true, nextTarget: { $nin: [null, ...configured] } };
      await requests.updateMany(filter, { $set: { nextTarget: null } });
    },

    async destroyKey(requestId, { done, times }) {
      const filter = { _id: requestId, open: true, identities: { $ne: null } };
      await requests.updateOne(filter, { $set: { identities: null, done, times, nextTarget: null } });
    },

    async complete(requestId, at, times) {
      // If two calls complete it concurrently, only one call's mark is stored.
      const mark = randomId();
      const ended = { open: false, completedAt: at, completedBy: mark, times: { $literal: times }, identities: null };
      const nextTarget = { $cond: ["$notify", NOTIFICATION, null] };
      const update = [{ $set: { ...ended, nextTarget, notBefore: at, runner: null, attempts: 0, problem: null } }];
      const stored = await updated([{ updateOne: { filter: { _id: requestId, open: true }, update } }]);
      return stored.get(requestId)?.completedBy === mark;
    },

    async list({ state, target, problem, newestFirst, after, limit }) {
      const last =
        after === undefined ? undefined : await requests.findOne({ _id: after }, { projection: { sequence: 1 } });
      if (last === null) return [];
      const filter = {
        ...listed(state, target, problem),
        ...(last === undefined ? {} : { sequence: newestFirst ? { $lt: last.sequence } : { $gt: last.sequence } }),
      };
      const sort = { sequence: newestFirst ? -1 : 1 } as const;
      const page = await committed((options) => requests.find(filter, { sort, limit, ...options }).toArray());
      return page.map(deletionOf);
    },

    count(state, target, problem) {
      const filter = listed(state, target, problem);
      const isAll = Object.keys(filter).length === 0;
      return requests.countDocuments(filter, { readConcern: MAJORITY, ...(isAll ? { hint: "_id_" } : {}) });
    },

    async openReasons(limit) {
      const isStuck = { $gte: ["$attempts", STUCK_ATTEMPTS] };
      const counts = { requests: { $sum: 1 }, stuck: { $sum: { $cond: [isStuck, 1, 0] } } };
      const stages = [
        { $match: { open: true } },
        {
          $group: { _id: { problem: "$problem", target: "$nextTarget" }, ...counts, oldestAt: { $min: "$acceptedAt" } },
        },
        { $sort: { stuck: -1, requests: -1, _id: 1 } },
        { $limit: limit },
      ];
      const found = await requests.aggregate<CountedReason>(stages, { readConcern: MAJORITY }).toArray();
      return found.map(({ _id: { problem, target }, ...rest }) => ({
        problem: problem ?? undefined,
        target: target ?? undefined,
        ...rest,
      }));
    },

    receiptKey: (fresh) => facts.textOnce(RECEIPT_KEY, fresh),

    async settledSequence() {
      await numberDeletions(dependencies);
      // The newest number is read first: a request numbered between the two reads is above it and not settled.
      const newest = await newestNumber(db, { readConcern: MAJORITY });
      const oldestFirst = { sort: { number: 1 }, limit: 1, readConcern: MAJORITY } as const;
      const [oldest] = await requests.find({ open: true, number: { $gt: 0 } }, oldestFirst).toArray();
      return oldest === undefined ? newest : Math.min(newest, Number(oldest.number) - 1);
    },

    async since(sequence, limit) {
      await numberDeletions(dependencies);
      const later = await committed((options) =>
        requests.find({ number: { $gt: sequence } }, { sort: { number: 1 }, limit, ...options }).toArray(),
      );
      return later.map((found) => ({ sequence: Number(found.number), deletion: deletionOf(found) }));
    },

    /** The newest number is stored before the removal, so that it is never assigned again. */
    async expire(before, keepsNotifying) {
      await numberDeletions(dependencies);
      const nextTarget = keepsNotifying ? null : { $in: [null, NOTIFICATION] };
      const old = { open: false, nextTarget, completedAt: { $lt: before } };
      const options = { sort: { number: -1 }, readConcern: MAJORITY } as const;
      const newest = (await requests.findOne({ ...old, number: { $gt: 0 } }, options))?.number;
      if (newest === undefined || newest === null) return;
      await facts.raise(FORGOTTEN, newest);
      for (;;) {
        const page = { projection: { hashes: 1 }, limit: REQUESTS_PER_STEP } as const;
        const gone = await requests.find({ ...old, number: { $gt: 0, $lte: newest } }, page).toArray();
        if (gone.length === 0) return;
        const ids = gone.map(({ _id }) => _id);
        // An identity that a later or an open request names keeps its cut-off.
        const hashes = gone.flatMap((request) => request.hashes);
        const open = await requests.distinct("hashes", { open: true, hashes: { $in: hashes } });
        const named = { _id: { $in: hashes, $nin: open } };
        await erasedIdentitiesOf(db).deleteMany({ ...named, request: { $in: ids } });
        await requests.deleteMany(byIds(ids));
      }
    },

    forgottenSequence: () => facts.number(FORGOTTEN),
  };
}

interface CountedReason extends Pick<OpenReason, "requests" | "stuck" | "oldestAt"> {
  readonly _id: { readonly problem: string | null; readonly target: string | null };
}

interface Update {
  readonly updateOne: {
    readonly filter: Filter<DeletionDocument> & { readonly _id: string };
    readonly update: UpdateFilter<DeletionDocument> | Document[];
  };
}

const inState: Readonly<Record<ListedState, Filter<DeletionDocument>>> = {
  open: { open: true },
  stuck: { open: true, attempts: { $gte: STUCK_ATTEMPTS } },
  completed: { open: false },
  all: {},
};

/** Returns the filter for requests in a state; if given, whose next run calls the target, and with the problem. */
function listed(state: ListedState, target: string | undefined, problem: string | undefined): Filter<DeletionDocument> {
  const named = target === undefined ? {} : { nextTarget: target };
  return { ...inState[state], ...named, ...(problem === undefined ? {} : { problem }) };
}

/** Filter for requests that a run follows: they are open, or their notification is pending. */
const awaitsRun = { $or: [{ open: true }, { nextTarget: NOTIFICATION }] };

/** Returns the filter for requests whose next run calls this target, or none if undefined. */
function calls(target: string | undefined) {
  return { open: target !== NOTIFICATION, nextTarget: target ?? null };
}

/** Returns the ranges of `notBefore` of due requests: the time has passed, or the clock was set back since. */
function whenDue(now: number) {
  return [{ $lte: now }, { $gt: now + MAX_WAIT_MS }];
}
