import type { EntityKeys, EntityStore, LoadedEntities } from "../entities/ports.js";
import type { EntityId, StoredEntity } from "../entities/profile/entity.js";
import { decodeDocument } from "../entities/profile/entity-document.js";
import { type HashIdentity, type Identity, type IdentityHash, identityKey } from "../entities/profile/identity.js";
import { type UnsealDependencies, undefinedIfDamaged, unsealProfile } from "../entities/read/unseal-profile.js";
import type { Reservation } from "../memory-budget.js";

export interface ScopeDependencies extends UnsealDependencies {
  readonly entities: Pick<EntityStore, "find" | "load">;
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
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/**
 * Follows an identity to its live profile, from there to that profile's identities, and from these to every other live
 * profile that holds one of them. Rejects as `unsealProfile` does.
 */
export async function expandScope(
  dependencies: ScopeDependencies,
  requested: IdentityHash,
  memory: Reservation,
): Promise<DeletionScope> {
  const { entities } = dependencies;
  const hashes = new Set([requested]);
  const profiles = new Map<EntityId, CoveredProfile>();
  const owners = new Map<IdentityHash, EntityId | undefined>();
  const identities = new Map<string, Identity>();
  let next = [requested];
  while (next.length > 0) {
    const { owners: stored, ...found } = await entities.find(next);
    const live = new Set(profiles.keys());
    const linked = new Set<IdentityHash>();
    for (let page: LoadedEntities = found; ; page = await entities.load(page.left)) {
      for (const profile of page.profiles.values()) {
        live.add(profile.id);
        if (profiles.has(profile.id)) continue;
        const { sealed: _, ...covered } = profile;
        profiles.set(profile.id, covered);
        for (const hash of profile.hashes) linked.add(hash);
        for (const identity of await identitiesIn(dependencies, profile, memory)) {
          linked.add(dependencies.hashIdentity(profile.table, identity));
          identities.set(identityKey(identity), identity);
        }
      }
      if (page.left.length === 0) break;
    }
    for (const hash of next) {
      const owner = stored.get(hash);
      if (owner === undefined || !live.has(owner)) owners.set(hash, owner);
    }
    next = [...linked].filter((hash) => !hashes.has(hash));
    for (const hash of next) hashes.add(hash);
  }
  return { profiles: [...profiles.values()], hashes: [...hashes], identities: [...identities.values()], owners };
}

/**
 * Returns the identities in the document; another profile may own them by now. Returns none when the key is destroyed,
 * or when the document is damaged, so that a damaged profile can still be deleted.
 */
async function identitiesIn(
  dependencies: ScopeDependencies,
  profile: StoredEntity,
  memory: Reservation,
): Promise<readonly Identity[]> {
  const keys = await dependencies.entityKeys.read([profile.id]);
  const identities = await unsealProfile(
    dependencies,
    keys,
    profile,
    memory,
    (plain) => decodeDocument(plain).identities,
  ).catch(undefinedIfDamaged);
  return identities ?? [];
}
