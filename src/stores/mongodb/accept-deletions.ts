import type { ClientSession, Db } from "mongodb";
import { groupedCalls } from "../../async/grouped-calls.js";
import type { Deletion } from "../../deletions/deletion.js";
import type { AcceptedScope, Ledger } from "../../deletions/ports.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { byIds, type InSession } from "./collection.js";
import type { StoreParts } from "./connection.js";
import { entityCollectionsOf, revisionsOf } from "./entity-document.js";
import { isOfOneCall } from "./errors.js";
import { deletionDocument, deletionsOf } from "./ledger-document.js";
import { ACCEPTED, FORGOTTEN, numberIn, raiseTo } from "./marks.js";

interface Request {
  readonly deletion: Deletion;
  readonly scope: AcceptedScope;
  /** Aborts when the caller gets its 503 for the deadline. */
  readonly late: AbortSignal | undefined;
}

/** Requests of one transaction: requests that come while another transaction is under way share the next one. */
const GROUP = { most: 100, atOnce: 1, isOfOneCall };

/**
 * Accepts requests. One transaction keeps them with their numbers, marks the profiles that they name, and writes the identities that lead to
 * none: so every commit that was planned before, and concerns one of them, conflicts. Numbers follow each other without a gap that could be filled later: a unique index
 * makes one of two processes that take the same number run its transaction again.
 */
export function acceptDeletions(parts: StoreParts): Ledger["accept"] {
  const accept = groupedCalls(
    (requests: readonly Request[]) => parts.transact((session) => acceptAll(parts, requests, session)),
    GROUP,
  );
  return async (deletion, scope, late) => {
    const sequence = (await accept([{ deletion, scope, late }])).get(deletion.requestId);
    if (sequence === undefined) late?.throwIfAborted();
    return sequence;
  };
}

/** The newest number that a request has or had; 0 at first. */
export async function newestSequence(db: Db, inside: InSession = {}): Promise<number> {
  const newestFirst = { sort: { sequence: -1 }, projection: { sequence: 1 } } as const;
  const newest = await deletionsOf(db).findOne({}, { ...newestFirst, ...inside });
  return Math.max(newest?.sequence ?? 0, await numberIn(db, FORGOTTEN, inside));
}

/** Returns the number of each accepted request. A late request gets none; one that becomes late during the transaction ends it. */
async function acceptAll(
  parts: StoreParts,
  requests: readonly Request[],
  session: ClientSession,
): Promise<Map<string, number>> {
  const { data, ledger, wrapping } = parts;
  const { entities, identities } = entityCollectionsOf(data);
  const isAsFound = await scopeCheck(parts, requests, session);
  const accepted = requests.filter((request) => !request.late?.aborted && isAsFound(request));
  if (accepted.length === 0) return new Map();
  const named = accepted.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  if (named.length > 0)
    await entities.updateMany(byIds(named), { $set: { erased: true }, $inc: { revision: 1 } }, { session });
  const holds = accepted.flatMap(({ deletion, scope }) =>
    [...scope.free.keys()].map((_id) => ({
      updateOne: {
        filter: { _id },
        update: { $set: { entity: deletion.requestId }, $inc: { asked: 1 } },
        upsert: true,
      },
    })),
  );
  if (holds.length > 0) await identities.bulkWrite(holds, { session });
  const first = (await newestSequence(ledger, { session })) + 1;
  await deletionsOf(ledger).insertMany(
    accepted.map(({ deletion }, index) => deletionDocument(deletion, first + index, wrapping)),
    { session },
  );
  await raiseTo(data, ACCEPTED, first + accepted.length - 1, { session });
  for (const { late } of accepted) late?.throwIfAborted();
  return new Map(accepted.map(({ deletion }, index) => [deletion.requestId, first + index]));
}

/** Whether the scope of a request is unchanged; of several requests with the same profile only the first one has it. */
async function scopeCheck({ data }: StoreParts, requests: readonly Request[], session: ClientSession) {
  const { entities, identities } = entityCollectionsOf(data);
  const ids = requests.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  const hashes = requests.flatMap(({ scope }) => [...scope.free.keys()]);
  const revisions = await revisionsOf(entities, ids, session);
  const held = hashes.length === 0 ? [] : await identities.find(byIds(hashes), { session }).toArray();
  const holders = new Map<string, EntityId | undefined>(held.map(({ _id, entity }) => [_id, entity]));

  return ({ scope: { profiles, free } }: Request): boolean => {
    if (!profiles.every(({ id, revision }) => revisions.get(id) === revision)) return false;
    if (![...free].every(([hash, holder]) => holders.get(hash) === holder)) return false;
    for (const { id } of profiles) revisions.delete(id);
    return true;
  };
}
