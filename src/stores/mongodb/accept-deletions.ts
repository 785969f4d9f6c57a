import type { ClientSession, Db } from "mongodb";
import { groupedCalls } from "../../async/grouped-calls.js";
import type { Deletion } from "../../deletions/deletion.js";
import type { Ledger, ScopeSnapshot } from "../../deletions/ports.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { byIds, type InSession } from "./collection.js";
import type { StoreDependencies } from "./connection.js";
import { ACCEPTED, FORGOTTEN, numberIn, raiseTo } from "./database-facts.js";
import { entityCollectionsOf, markedErased, revisionsOf } from "./entity-document.js";
import { isOfOneCall } from "./errors.js";
import { deletionDocument, deletionsOf } from "./ledger-document.js";
import { addErasedIdentities } from "./suppression.js";

interface Request {
  readonly deletion: Deletion;
  readonly scope: ScopeSnapshot;
  /** Aborts when the caller gets its 503 for the deadline. */
  readonly late: AbortSignal | undefined;
}

/**
 * Requests of one transaction: at most 100, and fewer if they write many identities. Requests that arrive during a
 * transaction share the next one.
 */
const GROUP = {
  most: 2_000,
  weightOf: ({ deletion }: Request) => Math.max(20, deletion.hashes.length),
  atOnce: 1,
  isOfOneCall,
};

/**
 * Accepts requests. One transaction stores them with their numbers, marks the profiles that they name, and writes the
 * identities without a profile, so that every commit planned before about one of them conflicts. Sequence numbers are
 * gapless: if two processes take the same number, a unique index makes one of them repeat its transaction.
 */
export function acceptDeletions(dependencies: StoreDependencies): Ledger["accept"] {
  const accept = groupedCalls(
    (requests: readonly Request[]) => dependencies.transact((session) => acceptAll(dependencies, requests, session)),
    GROUP,
  );
  return async (deletion, scope, late) => {
    const sequence = (await accept([{ deletion, scope, late }])).get(deletion.requestId);
    if (sequence === undefined) late?.throwIfAborted();
    return sequence;
  };
}

/** Returns the newest number of a request, present or removed; 0 at first. */
export async function newestSequence(db: Db, inside: InSession = {}): Promise<number> {
  const newestFirst = { sort: { sequence: -1 }, projection: { sequence: 1 } } as const;
  const newest = await deletionsOf(db).findOne({}, { ...newestFirst, ...inside });
  return Math.max(newest?.sequence ?? 0, await numberIn(db, FORGOTTEN, inside));
}

/**
 * Returns the number of each request that is accepted, or is stored already. A late request gets none; a request that
 * becomes late during the transaction aborts it.
 */
async function acceptAll(
  dependencies: StoreDependencies,
  requests: readonly Request[],
  session: ClientSession,
): Promise<Map<string, number>> {
  const { data, ledger, wrapping } = dependencies;
  const { entities, identities } = entityCollectionsOf(data);
  const numbers = await storedNumbers(ledger, requests, session);
  const isAsFound = await scopeCheck(dependencies, requests, session);
  const fresh = new Map(requests.map((request) => [request.deletion.requestId, request]));
  const accepted = [...fresh.values()].filter(
    (request) => !numbers.has(request.deletion.requestId) && !request.late?.aborted && isAsFound(request),
  );
  if (accepted.length === 0) return numbers;
  const named = accepted.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  if (named.length > 0)
    await entities.updateMany(byIds(named), { $set: markedErased, $inc: { revision: 1 } }, { session });
  const holds = accepted.flatMap(({ deletion, scope }) =>
    [...scope.unheld.keys()].map((_id) => ({
      updateOne: {
        filter: { _id },
        update: { $set: { entity: deletion.requestId }, $inc: { asked: 1 } },
        upsert: true,
      },
    })),
  );
  if (holds.length > 0) await identities.bulkWrite(holds, { session });
  const first = (await newestSequence(ledger, { session })) + 1;
  const numbered = accepted.map(({ deletion }, index) => ({ deletion, sequence: first + index }));
  await deletionsOf(ledger).insertMany(
    numbered.map(({ deletion, sequence }) => deletionDocument(deletion, sequence, wrapping)),
    { session },
  );
  await addErasedIdentities(ledger, numbered, session);
  await raiseTo(data, ACCEPTED, first + accepted.length - 1, { session });
  for (const { late } of accepted) late?.throwIfAborted();
  for (const { deletion, sequence } of numbered) numbers.set(deletion.requestId, sequence);
  return numbers;
}

/** Returns the numbers of the requests that are stored already. */
async function storedNumbers(ledger: Db, requests: readonly Request[], session: ClientSession) {
  const ids = requests.map(({ deletion }) => deletion.requestId);
  const stored = await deletionsOf(ledger)
    .find(byIds(ids), { session, projection: { sequence: 1 } })
    .toArray();
  return new Map(stored.map(({ _id, sequence }) => [_id, sequence]));
}

/**
 * Returns whether the scope of a request is unchanged; of several requests for one profile only the first is accepted.
 */
async function scopeCheck({ data }: StoreDependencies, requests: readonly Request[], session: ClientSession) {
  const { entities, identities } = entityCollectionsOf(data);
  const ids = requests.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  const hashes = requests.flatMap(({ scope }) => [...scope.unheld.keys()]);
  const revisions = await revisionsOf(entities, ids, session);
  const held = hashes.length === 0 ? [] : await identities.find(byIds(hashes), { session }).toArray();
  const holders = new Map<string, EntityId | undefined>(held.map(({ _id, entity }) => [_id, entity]));

  return ({ scope: { profiles, unheld } }: Request): boolean => {
    if (!profiles.every(({ id, revision }) => revisions.get(id) === revision)) return false;
    if (![...unheld].every(([hash, holder]) => holders.get(hash) === holder)) return false;
    for (const { id } of profiles) revisions.delete(id);
    return true;
  };
}
