import type { ClientSession, Db } from "mongodb";
import { type Deletion, EARLIER_OPEN } from "../../../deletions/deletion.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { byIds } from "../collection.js";
import { type DeletionDocument, deletionsOf } from "./ledger-document.js";
import { erasedIdentitiesOf } from "./suppression.js";

const DUE = { nextTarget: "", problem: null } as const;

/** Place of a new request among the requests over its identities. */
export type QueuePlace = Pick<DeletionDocument, "behind" | "followed">;

/**
 * Returns the place of each of these new requests, in order. A request waits for the newest open request over each of
 * its identities, which itself waits for earlier ones. Writes these open requests, so that completing one concurrently
 * conflicts.
 */
export async function queue(
  ledger: Db,
  accepted: readonly Deletion[],
  session: ClientSession,
): Promise<(deletion: Deletion) => QueuePlace> {
  const newest = await newestOpen(ledger, [...new Set(accepted.flatMap(({ hashes }) => hashes))], session);
  const behind = new Map<string, readonly string[]>();
  for (const { requestId, hashes } of accepted) {
    behind.set(requestId, [...new Set(hashes.flatMap((hash) => newest.get(hash) ?? []))]);
    for (const hash of hashes) newest.set(hash, requestId);
  }
  const followed = new Set([...behind.values()].flat());
  const before = [...followed].filter((id) => !behind.has(id));
  if (before.length > 0) await deletionsOf(ledger).updateMany(byIds(before), { $inc: { followed: 1 } }, { session });
  return ({ requestId }) => ({ behind: behind.get(requestId) ?? [], followed: followed.has(requestId) ? 1 : 0 });
}

/** Returns the newest request over each of these identities, if it is open. */
async function newestOpen(ledger: Db, hashes: readonly IdentityHash[], session: ClientSession) {
  const erased = await erasedIdentitiesOf(ledger).find(byIds(hashes), { session }).toArray();
  if (erased.length === 0) return new Map<IdentityHash, string>();
  const open = {
    ...byIds<DeletionDocument>(erased.map(({ request }) => request)),
    open: true,
    freed: { $ne: true as const },
  };
  const found = await deletionsOf(ledger)
    .find(open, { session, projection: { _id: 1 } })
    .toArray();
  const ids = new Set(found.map(({ _id }) => _id));
  return new Map(erased.flatMap(({ _id, request }) => (ids.has(request) ? [[_id, request] as const] : [])));
}

/**
 * Makes the requests due that wait only for the `ended` ones, and returns their ids. The same transaction must complete
 * or free the ended ones. If two transactions complete requests that a third waits for, they write the same document.
 */
export async function releaseWaiting(
  ledger: Db,
  ended: readonly string[],
  hashes: readonly IdentityHash[],
  session: ClientSession,
): Promise<readonly string[]> {
  const deletions = deletionsOf(ledger);
  const waiting = waitingOver(hashes);
  const behindEnded = { ...waiting, behind: { $in: [...ended] } };
  await deletions.updateMany(behindEnded, { $pullAll: { behind: [...ended] } }, { session });
  const released = await deletions.find({ ...waiting, behind: [] }, { session, projection: { _id: 1 } }).toArray();
  const ids = released.map(({ _id }) => _id);
  if (ids.length > 0) await deletions.updateMany(byIds(ids), { $set: DUE }, { session });
  return ids;
}

/** Makes these waiting requests due; no request waits for them any more. */
export async function free(ledger: Db, ids: readonly string[], session: ClientSession): Promise<void> {
  if (ids.length > 0)
    await deletionsOf(ledger).updateMany(byIds(ids), { $set: { ...DUE, behind: [], freed: true } }, { session });
}

/** Filter for the requests over these identities that wait for an earlier one. */
export function waitingOver(hashes: readonly IdentityHash[]) {
  return { open: true, nextTarget: null, hashes: { $in: [...hashes] } };
}

/** Returns a function that returns the place of each request of a copied ledger. It must be called in their order. */
export function copiedQueue(): (deletion: Deletion) => QueuePlace {
  const newest = new Map<IdentityHash, string>();
  return ({ requestId, hashes, problem, completedAt }) => {
    if (completedAt !== undefined) return { behind: [], followed: 0 };
    const earlier = new Set(hashes.flatMap((hash) => newest.get(hash) ?? []));
    for (const hash of hashes) newest.set(hash, requestId);
    // A later request may wait for this one; otherwise the completion only finds none.
    return { behind: problem === EARLIER_OPEN ? [...earlier] : [], followed: 1 };
  };
}
