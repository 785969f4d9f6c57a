import type { EntityId, StoredEntity } from "../entities/entity.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { HashIdentity, Identity, IdentityHash } from "../entities/identity.js";
import type { SealedIdentities } from "./sealed-identities.js";

export interface ScopeParts {
  readonly entities: Pick<EntityStore, "find">;
  readonly identities: SealedIdentities;
  readonly hashIdentity: HashIdentity;
}

/** Whom a request means, as it was found. */
export interface ErasureScope {
  readonly profiles: readonly StoredEntity[];
  /** Every identity of theirs, and the one that was asked for. */
  readonly hashes: readonly IdentityHash[];
  /** The same as written, as far as profiles say. */
  readonly identities: readonly Identity[];
  /** Those of `hashes` that lead to no live profile, with the id that holds them: one that is being erased, or none. */
  readonly free: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/**
 * Follows an identity to the live profile that it leads to, that profile's identities, and from those to every other profile that has held one
 * of them since `now` (Unix ms) or longer.
 */
export async function expandScope(parts: ScopeParts, hash: IdentityHash, now: number): Promise<ErasureScope> {
  const hashes = new Set([hash]);
  const profiles = new Map<EntityId, StoredEntity>();
  const free = new Map<IdentityHash, EntityId | undefined>();
  const identities: Identity[] = [];
  let next = [hash];
  while (next.length > 0) {
    const { owners, profiles: live } = await parts.entities.find(next);
    const found: StoredEntity[] = [];
    for (const one of next) {
      const owner = owners.get(one);
      const profile = owner === undefined ? undefined : live.get(owner);
      if (profile === undefined) {
        if (owner === undefined || !profiles.has(owner)) free.set(one, owner);
      } else if (!profiles.has(profile.id) && (one === hash || isSince(profile, one, now))) {
        profiles.set(profile.id, profile);
        found.push(profile);
      }
    }
    const known = await knownAs(parts, found);
    identities.push(...known.identities);
    next = known.hashes.filter((one) => !hashes.has(one));
    for (const one of next) hashes.add(one);
  }
  return { profiles: [...profiles.values()], hashes: [...hashes], identities, free };
}

function isSince({ bindings }: StoredEntity, hash: IdentityHash, now: number): boolean {
  return bindings.some((binding) => binding.hash === hash && binding.since <= now);
}

/** Every identity of the profiles: those that lead to them, and those written in them, which may lead to a newer profile by now. */
async function knownAs(
  { identities, hashIdentity }: ScopeParts,
  profiles: readonly StoredEntity[],
): Promise<{ hashes: IdentityHash[]; identities: Identity[] }> {
  const written = await identities.writtenIn(profiles);
  const hashes = new Set([
    ...profiles.flatMap(({ bindings }) => bindings.map(({ hash }) => hash)),
    ...written.map(({ table, identity }) => hashIdentity(table, identity)),
  ]);
  return { hashes: [...hashes], identities: written.map(({ identity }) => identity) };
}
