import type { Identity, IdentityHash } from "../entities/identity.js";
import type { Failpoint } from "../failpoint.js";
import type { Deletion } from "./deletion.js";
import type { ErasureWatermark } from "./erasure-watermark.js";
import { type GatherParts, gather, idsOf, knownAs, notErased, voidProfiles } from "./gather.js";
import { liveProfiles } from "./live-profiles.js";

export interface RequestParts extends GatherParts {
  readonly watermark: Pick<ErasureWatermark, "noteAccepted">;
  /** Names of the targets that a request accepted now is for. */
  readonly targets: readonly string[];
  /** A random id of 20 hex characters. */
  newToken(): string;
  readonly failpoint: Failpoint;
}

/** Repeats meet a request that others extend in the same moment. */
const TRIES = 20;

/**
 * Accepts the deletion of whoever has this identity, and answers its request id. When it resolves the request survives
 * a crash, no read hands out the profile by any of its identities, and no write that is not newer than `now` (Unix ms,
 * later than every arrival so far) brings it back. An identity that nobody has goes the same way.
 */
export async function requestDeletion(
  parts: RequestParts,
  table: string,
  identity: Identity,
  now: number,
): Promise<string> {
  const hash = parts.hashIdentity(table, identity);
  const requestId = (await repeat(parts, identity, hash, now)) ?? (await accept(parts, table, identity, hash, now));
  await gather(parts, requestId);
  return requestId;
}

/** Moves the cut-off of the open request of this identity to now; undefined when a request of its own is due. */
async function repeat(
  parts: RequestParts,
  identity: Identity,
  hash: IdentityHash,
  now: number,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const open = await parts.ledger.openFor(hash);
    if (open === undefined || (await hasReturned(parts, open))) return undefined;
    const sealed = await resealed(parts, open, identity);
    const extended = await parts.ledger.extend(open.requestId, open.revision, { cutOff: now, ...sealed });
    if (extended !== undefined) return extended.requestId;
  }
  return undefined;
}

/** The list of identities under a new key, when that of the request is being overwritten: remote targets are told of the new cut-off too. */
async function resealed({ identities }: RequestParts, open: Deletion, identity: Identity) {
  if (!open.done.includes("verified")) return {};
  const sealed = await identities.seal([identity, ...(await identities.open(open))]);
  return { entities: [sealed.sealer], sealed };
}

/** Whether somebody has come back since: a profile that no deletion touches has one of the identities. */
async function hasReturned({ entities, suppression }: RequestParts, open: Deletion): Promise<boolean> {
  const owners = await entities.owners(open.hashes);
  const live = await liveProfiles(entities, new Set(owners.values()));
  const erased = await suppression.erased(live.flatMap(idsOf));
  const voids = await voidProfiles(suppression, live);
  return live.some((profile) => !voids.has(profile) && !idsOf(profile).some((id) => erased.has(id)));
}

async function accept(
  parts: RequestParts,
  table: string,
  identity: Identity,
  hash: IdentityHash,
  now: number,
): Promise<string> {
  const { entities, identities, ledger, suppression, watermark, failpoint } = parts;
  const owners = await entities.owners([hash]);
  const profiles = await notErased(suppression, await liveProfiles(entities, new Set(owners.values())));
  const known = await knownAs(parts, profiles);
  const sealed = await identities.seal([identity, ...known.identities]);
  const requestId = `${parts.newToken()}-${Math.floor(now / 1000)}`;
  failpoint("K1");
  const sequence = await ledger.accept({
    requestId,
    table,
    identity: hash,
    acceptedAt: now,
    cutOff: now,
    entities: [sealed.sealer, ...new Set(profiles.flatMap(idsOf))],
    hashes: [...new Set([hash, ...known.hashes])],
    ...sealed,
    targets: parts.targets,
    done: [],
    attempts: 0,
    notBefore: 0,
    revision: 1,
    completedAt: undefined,
  });
  failpoint("K2");
  await watermark.noteAccepted(sequence);
  return requestId;
}
