import { randomBytes } from "node:crypto";
import { againstWriters } from "../entities/against-writers.js";
import { idsOf } from "../entities/entity.js";
import type { Identity, IdentityHash } from "../entities/identity.js";
import type { History } from "../entities/ports.js";
import type { Failpoint } from "../failpoint.js";
import type { Deletion } from "./deletion.js";
import { type ErasureScope, expandScope, type ScopeParts } from "./erasure-scope.js";
import type { DownstreamTarget, Ledger } from "./ports.js";

export interface RequestParts extends ScopeParts {
  readonly ledger: Ledger;
  readonly history: Pick<History, "newestArrival">;
  /** The targets that a request accepted now is for. */
  readonly targets: readonly DownstreamTarget[];
  readonly failpoint: Failpoint;
}

/**
 * Accepts the deletion of the profile that has this identity, and resolves with its request id. When it resolves the request survives
 * a crash, no read returns the profile by any of its identities, and no write that is not newer than `now` (Unix ms,
 * later than every arrival so far by the clock of this process), or than any message of the profile, brings it back. An identity that leads to no profile goes the same way. Rejects with `unavailable` when writers
 * change the profile without end. Once `late` has aborted nothing is sent to the ledger any more; what was sent may still be accepted.
 */
export async function requestDeletion(
  parts: RequestParts,
  table: string,
  identity: Identity,
  now: number,
  late?: AbortSignal,
): Promise<string> {
  const hash = parts.hashIdentity(table, identity);
  return againstWriters(async () => {
    const scope = await expandScope(parts, hash, now);
    const open = scope.profiles.length > 0 ? undefined : await repeatable(parts, hash);
    late?.throwIfAborted();
    return open === undefined
      ? accept(parts, { table, identity, hash, now, late }, scope)
      : repeat(parts, { identity, hash, now, late }, open, scope);
  }, late);
}

/** The open request of this identity, unless a profile has been built since under one of the identities that it names. */
async function repeatable({ ledger, entities }: RequestParts, hash: IdentityHash): Promise<Deletion | undefined> {
  const open = await ledger.openFor(hash);
  if (open === undefined) return undefined;
  return (await entities.find(open.hashes)).profiles.size > 0 ? undefined : open;
}

/** What a caller asked for. */
interface Asked {
  readonly identity: Identity;
  readonly hash: IdentityHash;
  readonly now: number;
  readonly late: AbortSignal | undefined;
}

/** Moves the cut-off of an open request to now; undefined when it, or the holder of the identity, is another one by now. */
async function repeat(
  parts: RequestParts,
  { identity, hash, now, late }: Asked,
  open: Deletion,
  { free }: ErasureScope,
): Promise<string | undefined> {
  const sealed = await resealed(parts, open, identity);
  const cutOff = { at: now, holder: free.get(hash) };
  return (await parts.ledger.extend(open.requestId, open.revision, { cutOff, ...sealed }, late))?.requestId;
}

/** The list of identities under a new key, when that of the request is being overwritten: remote targets erase up to the new cut-off too. */
async function resealed({ identities }: RequestParts, open: Deletion, identity: Identity) {
  if (!open.done.includes("verified")) return {};
  const sealed = await identities.seal([identity, ...(await identities.open(open))]);
  return { entities: [sealed.sealer], sealed };
}

/** Undefined when the profiles, or the holders of the identities, are others by now. */
async function accept(
  parts: RequestParts,
  { table, identity, hash, now, late }: Asked & { readonly table: string },
  scope: ErasureScope,
): Promise<string | undefined> {
  const { identities, ledger, history, failpoint } = parts;
  const ids = [...new Set(scope.profiles.flatMap(idsOf))];
  // A process whose clock is ahead may have taken a message of the profile in.
  const cutOff = Math.max(now, (await history.newestArrival(ids)) ?? now);
  const { sealerKey, ...sealed } = await identities.seal([identity, ...scope.identities]);
  const requestId = `${randomBytes(10).toString("hex")}-${Math.floor(now / 1000)}`;
  failpoint("deletion-planned");
  const sequence = await ledger.accept(
    {
      requestId,
      table,
      identity: hash,
      acceptedAt: now,
      cutOff,
      entities: [sealed.sealer, ...ids],
      hashes: scope.hashes,
      ...sealed,
      targets: parts.targets.map(({ name }) => name),
      done: [],
      times: {},
      attempts: 0,
      problem: undefined,
      notBefore: 0,
      revision: 1,
      completedAt: undefined,
    },
    { profiles: scope.profiles.map(({ id, revision }) => ({ id, revision })), free: scope.free, sealerKey },
    late,
  );
  failpoint("deletion-accepted");
  return sequence === undefined ? undefined : requestId;
}
