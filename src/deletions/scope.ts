import { pacer } from "../async/yielding.js";
import type { EntityKeys, EntityStore } from "../entities/ports.js";
import { open } from "../entities/profile/encryption.js";
import type { EntityId, StoredEntity } from "../entities/profile/entity.js";
import { decodeDocument } from "../entities/profile/entity-document.js";
import type { HashIdentity, Identity, IdentityHash } from "../entities/profile/identity.js";
import { eachOnce } from "./identity-list.js";

export interface ScopeDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly hashIdentity: HashIdentity;
}

/** A profile without its document. */
type CoveredProfile = Omit<StoredEntity, "sealed">;

/** Profiles and identities that a request covers. */
export interface DeletionScope {
  readonly profiles: readonly CoveredProfile[];
  /** All identities of the profiles, and the one in the request. */
  readonly hashes: readonly IdentityHash[];
  /** Identities of the profiles as written, without duplicates; none of a profile that cannot be decrypted. */
  readonly identities: readonly Identity[];
  /** The `hashes` without a live profile, each with its owner: an id that is being erased, or undefined. */
  readonly unheld: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/**
 * Follows an identity to its live profile, from there to that profile's identities, and from these to every other
 * profile that has held one of them since `now` (Unix ms) or longer. `pause` is awaited before each document.
 */
export async function expandScope(
  dependencies: ScopeDependencies,
  hash: IdentityHash,
  now: number,
  pause = pacer(),
): Promise<DeletionScope> {
  const hashes = new Set([hash]);
  const profiles = new Map<EntityId, CoveredProfile>();
  const unheld = new Map<IdentityHash, EntityId | undefined>();
  const identities: Identity[] = [];
  let next = [hash];
  while (next.length > 0) {
    const { owners, profiles: live } = await dependencies.entities.find(next);
    const found: StoredEntity[] = [];
    for (const one of next) {
      const owner = owners.get(one);
      const profile = owner === undefined ? undefined : live.get(owner);
      if (profile === undefined) {
        if (owner === undefined || !profiles.has(owner)) unheld.set(one, owner);
      } else if (!profiles.has(profile.id) && (one === hash || isSince(profile, one, now))) {
        const { sealed, ...covered } = profile;
        profiles.set(profile.id, covered);
        found.push(profile);
      }
    }
    const known = await identitiesOf(dependencies, found, pause);
    identities.push(...known.identities);
    next = known.hashes.filter((one) => !hashes.has(one));
    for (const one of next) hashes.add(one);
  }
  return { profiles: [...profiles.values()], hashes: [...hashes], identities: eachOnce(identities), unheld };
}

function isSince({ bindings }: StoredEntity, hash: IdentityHash, now: number): boolean {
  return bindings.some((binding) => binding.hash === hash && binding.since <= now);
}

/**
 * Returns all identities of the profiles: identities that lead to them, and identities in them, which may lead to a
 * newer profile by now. Holds one decrypted document at a time.
 */
async function identitiesOf(
  { entityKeys, hashIdentity }: ScopeDependencies,
  profiles: readonly StoredEntity[],
  pause: () => Promise<void> | undefined,
): Promise<{ hashes: IdentityHash[]; identities: Identity[] }> {
  const keys = await entityKeys.read(profiles.map(({ id }) => id));
  const hashes = new Set(profiles.flatMap(({ bindings }) => bindings.map(({ hash }) => hash)));
  const identities: Identity[] = [];
  for (const profile of profiles) {
    await pause();
    for (const identity of identitiesIn(profile, keys)) {
      hashes.add(hashIdentity(profile.table, identity));
      identities.push(identity);
    }
  }
  return { hashes: [...hashes], identities };
}

/** Returns the identities in the document: none when its key is destroyed, or when it is damaged. */
function identitiesIn({ id, sealed }: StoredEntity, keys: ReadonlyMap<EntityId, Uint8Array>): readonly Identity[] {
  try {
    const bytes = open(keys, { entity: id, sealed });
    return bytes === undefined ? [] : decodeDocument(bytes).identities;
  } catch {
    // A damaged profile can still be deleted.
    return [];
  }
}
