import type { ClientSession, Db } from "mongodb";
import { type Deletion, EARLIER_OPEN } from "../../../deletions/deletion.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { byIds } from "../collection.js";
import type { StoreDependencies } from "../connection.js";
import { type DeletionDocument, deletionsOf } from "./ledger-document.js";
import { erasedIdentitiesOf } from "./suppression.js";

/** A request is not due while it waits. */
const WAITS = { nextTarget: null, problem: EARLIER_OPEN } as const;
const DUE = { nextTarget: "", problem: null } as const;

/** Place of a new request among those over its identities. */
export type QueuePlace = Pick<DeletionDocument, "behind" | "followed">;

/**
 * Returns the place of each of these new requests, in order. A request waits for the newest open one of each of its
 * identities, which waits for the ones before. Writes these, so that a concurrent completion of one conflicts.
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
 * Makes the requests due that wait only for these, which are completed or freed in the same transaction, and returns
 * their ids. If two transactions complete requests that a third waits for, they write the same document.
 */
export async function releaseWaiting(
  ledger: Db,
  ended: readonly string[],
  hashes: readonly IdentityHash[],
  session: ClientSession,
): Promise<readonly string[]> {
  const gone = new Set(ended);
  const deletions = deletionsOf(ledger);
  const waiting = await deletions.find({ ...waitingOver(hashes) }, { session, projection: { behind: 1 } }).toArray();
  const touched = waiting.filter(({ behind }) => behind?.some((id) => gone.has(id)));
  const released = touched.filter(({ behind }) => behind?.every((id) => gone.has(id))).map(({ _id }) => _id);
  if (touched.length > 0)
    await deletions.updateMany(byIds(touched.map(({ _id }) => _id)), { $pullAll: { behind: [...ended] } }, { session });
  if (released.length > 0) await deletions.updateMany(byIds(released), { $set: DUE }, { session });
  return released;
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

/**
 * Lets the open requests wait that were copied, or stored by layout 1, without their earlier ones. Safe to repeat and
 * to run concurrently.
 */
export async function linkWaiting({ ledger, transact }: Pick<StoreDependencies, "ledger" | "transact">): Promise<void> {
  const deletions = deletionsOf(ledger);
  const unlinked = { open: true, behind: null };
  if ((await deletions.findOne(unlinked)) === null) return;
  const open = deletions.find({ open: true }, { sort: { sequence: 1 }, projection: { hashes: 1, behind: 1 } });
  const newest = new Map<IdentityHash, string>();
  const first: string[] = [];
  for (const { _id, hashes, behind } of await open.toArray()) {
    const earlier = [...new Set(hashes.flatMap((hash) => newest.get(hash) ?? []))];
    for (const hash of hashes) newest.set(hash, _id);
    if (behind !== null && behind !== undefined) continue;
    if (earlier.length === 0) first.push(_id);
    else
      await transact(async (session) => {
        const filter = { ...byIds<DeletionDocument>(earlier), open: true };
        const still = (await deletions.find(filter, { session, projection: { _id: 1 } }).toArray()).map(
          ({ _id }) => _id,
        );
        await deletions.updateMany(filter, { $inc: { followed: 1 } }, { session });
        const link = still.length > 0 ? { ...WAITS, runner: null, behind: still } : { behind: [] };
        await deletions.updateOne({ _id, ...unlinked }, { $set: link }, { session });
      });
  }
  await deletions.updateMany({ ...byIds<DeletionDocument>(first), ...unlinked }, { $set: { behind: [] } });
}
