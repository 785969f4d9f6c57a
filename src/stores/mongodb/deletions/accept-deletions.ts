import type { ClientSession } from "mongodb";
import { groupedCalls } from "../../../async/grouped-calls.js";
import type { Deletion } from "../../../deletions/deletion.js";
import type { Ledger, ScopeSnapshot } from "../../../deletions/ports.js";
import { SEGMENT } from "../../../entities/outbox.js";
import { segmentsIn, validMemberships } from "../../../entities/profile/entity.js";
import { moveCounts } from "../../../metrics/added-counts.js";
import { byIds } from "../collection.js";
import type { StoreDependencies } from "../connection.js";
import { isOfOneCall } from "../errors.js";
import { endingGenerations } from "../profiles/deleted-segments.js";
import { entityCollectionsOf, markedErased, revisionsOf } from "../profiles/entity-document.js";
import { changesOf, eraseUnsent } from "../profiles/outbox.js";
import { addedCountsOf } from "../series/slot-counts.js";
import { deletionDocument, deletionsOf } from "./ledger-document.js";
import { notesOf } from "./number-deletions.js";
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
 * Accepts requests. One transaction stores them, marks the profiles that they name, and writes the identities without a
 * profile, so that every commit planned before about one of them conflicts. Requests over different identities write
 * different documents, so processes that accept them do not conflict.
 */
export function acceptDeletions(dependencies: StoreDependencies): Ledger["accept"] {
  const accept = groupedCalls(
    (requests: readonly Request[]) => dependencies.transact((session) => acceptAll(dependencies, requests, session)),
    GROUP,
  );
  return async (deletion, scope, late) => {
    const isAccepted = (await accept([{ deletion, scope, late }])).has(deletion.requestId);
    if (!isAccepted) late?.throwIfAborted();
    return isAccepted;
  };
}

/**
 * Returns the ids of the requests that are accepted, or are stored already. A late request is not accepted; a request
 * that becomes late during the transaction aborts it. Without a write, the commit waits until a majority has all that
 * was read, so a request that was found survives a change of primary.
 */
async function acceptAll(
  dependencies: StoreDependencies,
  requests: readonly Request[],
  session: ClientSession,
): Promise<ReadonlySet<string>> {
  const { data, ledger, wrapping } = dependencies;
  const { entities, identities } = entityCollectionsOf(data);
  const fresh = new Map(requests.map((request) => [request.deletion.requestId, request]));
  const stored = deletionsOf(ledger).find(byIds([...fresh.keys()]), { session, projection: { _id: 1 } });
  const ids = new Set((await stored.toArray()).map(({ _id }) => _id));
  const isAsFound = await scopeCheck(dependencies, requests, session);
  const accepted = [...fresh.values()].filter(
    (request) => !ids.has(request.deletion.requestId) && !request.late?.aborted && isAsFound(request),
  );
  if (accepted.length === 0) return ids;
  await countLeavers(dependencies, accepted, session);
  const named = accepted.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  const notified = accepted.flatMap(({ deletion, scope }) => (scope.encrypt ? deletion.entities : []));
  const changes = notified.length === 0 ? [] : await changesOf(data, [SEGMENT, ...notified], { session });
  if (named.length > 0) {
    await entities.updateMany(byIds(named), { $set: markedErased, $inc: { revision: 1 } }, { session });
    await eraseUnsent(data, named, { session });
  }
  const ownerWrites = accepted.flatMap(({ deletion, scope }) =>
    [...scope.owners.keys()].map((_id) => ({
      updateOne: {
        filter: { _id },
        update: { $set: { entity: deletion.requestId }, $inc: { asked: 1 } },
        upsert: true,
      },
    })),
  );
  if (ownerWrites.length > 0) await identities.bulkWrite(ownerWrites, { session });
  const deletions = accepted.map(({ deletion, scope }) => {
    const own = changes.filter(({ entity }) => entity === SEGMENT || deletion.entities.includes(entity));
    return { ...deletion, encryptedIdentities: scope.encrypt?.(own) ?? deletion.encryptedIdentities };
  });
  await addErasedIdentities(ledger, deletions, session);
  const documents = deletions.map((deletion) => deletionDocument(deletion, undefined, wrapping));
  await deletionsOf(ledger).insertMany(documents, { session });
  await notesOf(data).insertMany(
    deletions.map(({ requestId }) => ({ _id: requestId })),
    { session },
  );
  for (const { deletion, late } of accepted) {
    late?.throwIfAborted();
    ids.add(deletion.requestId);
  }
  return ids;
}

/** Counts the members among the profiles of these requests as people who left their segments. */
async function countLeavers(
  { data }: StoreDependencies,
  requests: readonly Request[],
  session: ClientSession,
): Promise<void> {
  if (requests.every(({ scope }) => scope.profiles.length === 0)) return;
  const generations = await endingGenerations(data);
  const counts = requests.flatMap(({ deletion, scope }) => {
    const left = scope.profiles.flatMap(({ memberships }) => segmentsIn(validMemberships(memberships, generations)));
    const moves = left.map((segment) => ({ segment, change: -1 }));
    return moveCounts(moves, deletion.acceptedAt);
  });
  if (counts.length > 0) await addedCountsOf(data).insertMany(counts, { session });
}

/**
 * Returns whether the scope of a request is unchanged; only the first of several requests for one profile is accepted.
 * An identity without a live profile may have been taken over by another request, or have been erased.
 */
async function scopeCheck({ data }: StoreDependencies, requests: readonly Request[], session: ClientSession) {
  const { entities, identities } = entityCollectionsOf(data);
  const ids = requests.flatMap(({ scope }) => scope.profiles.map(({ id }) => id));
  const owners = new Map(requests.flatMap(({ scope }) => [...scope.owners]));
  const revisions = await revisionsOf(entities, ids, session);
  const stored = owners.size === 0 ? [] : await identities.find(byIds([...owners.keys()]), { session }).toArray();
  const changed = stored.filter(({ _id, entity }) => owners.get(_id) !== entity);
  const live = await revisionsOf(entities, [...new Set(changed.map(({ entity }) => entity))], session);
  const owned = new Set(changed.filter(({ entity }) => live.has(entity)).map(({ _id }) => _id));

  return ({ scope }: Request): boolean => {
    if (!scope.profiles.every(({ id, revision }) => revisions.get(id) === revision)) return false;
    if ([...scope.owners.keys()].some((hash) => owned.has(hash))) return false;
    for (const { id } of scope.profiles) revisions.delete(id);
    return true;
  };
}
