import type { EntityKeys, EntityStore } from "../entities/ports.js";
import { openDocuments } from "../entities/profile/encryption.js";
import type { EntityId, StoredEntity } from "../entities/profile/entity.js";
import type { HashIdentity, Identity, IdentityHash } from "../entities/profile/identity.js";
import { eachOnce } from "./identity-list.js";

export interface ScopeDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly hashIdentity: HashIdentity;
}

/** Profiles and identities that a request covers. */
export interface DeletionScope {
  readonly profiles: readonly StoredEntity[];
  /** All identities of the profiles, and the one in the request. */
  readonly hashes: readonly IdentityHash[];
  /** Identities of the profiles as written, without duplicates. */
  readonly identities: readonly Identity[];
  /** The `hashes` without a live profile, each with its owner: an id that is being erased, or undefined. */
  readonly unheld: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/**
 * Follows an identity to its live profile, from there to that profile's identities, and from these to every other
 * profile that has held one of them since `now` (Unix ms) or longer.
 */
export async function expandScope(
  dependencies: ScopeDependencies,
  hash: IdentityHash,
  now: number,
): Promise<DeletionScope> {
  const hashes = new Set([hash]);
  const profiles = new Map<EntityId, StoredEntity>();
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
        profiles.set(profile.id, profile);
        found.push(profile);
      }
    }
    const known = await identitiesOf(dependencies, found);
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
 * newer profile by now. A profile whose key is destroyed has none of the latter.
 */
async function identitiesOf(
  { entityKeys, hashIdentity }: ScopeDependencies,
  profiles: readonly StoredEntity[],
): Promise<{ hashes: IdentityHash[]; identities: Identity[] }> {
  const documents = await openDocuments(entityKeys, profiles);
  const written = profiles.flatMap(({ table }, index) =>
    (documents[index]?.identities ?? []).map((identity) => ({ table, identity })),
  );
  const hashes = new Set([
    ...profiles.flatMap(({ bindings }) => bindings.map(({ hash }) => hash)),
    ...written.map(({ table, identity }) => hashIdentity(table, identity)),
  ]);
  return { hashes: [...hashes], identities: written.map(({ identity }) => identity) };
}
