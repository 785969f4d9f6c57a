import type { EntityId, StoredEntity } from "../entities/entity.js";
import { decodeDocument } from "../entities/entity-document.js";
import { type HashIdentity, type Identity, type IdentityHash, identityKey } from "../entities/identity.js";
import type { EntityKeys, EntityStore } from "../entities/ports.js";
import { batchSealing, sealing } from "../entities/sealed.js";
import { randomId } from "../names.js";
import type { Deletion, SealedList } from "./deletion.js";

export interface ScopeParts {
  readonly entities: Pick<EntityStore, "find">;
  readonly identities: SealedIdentities;
  readonly hashIdentity: HashIdentity;
}

/** The profiles and identities that a request means, as they were found. */
export interface ErasureScope {
  readonly profiles: readonly StoredEntity[];
  /** Every identity of the profiles, and the one that was asked for. */
  readonly hashes: readonly IdentityHash[];
  /** The same as written, as far as profiles say, each once. */
  readonly identities: readonly Identity[];
  /** The `hashes` that lead to no live profile, each with the id that holds it: one that is being erased, or none. */
  readonly free: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/**
 * Follows an identity to the live profile that it leads to, that profile's identities, and from these to every other profile that has held one
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
  return { profiles: [...profiles.values()], hashes: [...hashes], identities: united(identities), free };
}

function isSince({ bindings }: StoredEntity, hash: IdentityHash, now: number): boolean {
  return bindings.some((binding) => binding.hash === hash && binding.since <= now);
}

/** Every identity of the profiles: the ones that lead to them, and the ones written in them, which may lead to a newer profile by now. */
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

/** The list of identities that a request needs for its remote targets. It is sealed, and dies with completion. */
export interface SealedIdentities {
  /** Seals the list under a new key of a fresh id. Nothing is stored. */
  seal(identities: readonly Identity[]): Promise<SealedList>;
  /** The list; empty when its key is destroyed, which happens only once every target is clean. */
  open(deletion: Pick<Deletion, "sealer" | "sealedIdentities">): Promise<Identity[]>;
  /** Identities as written in profiles; none of a profile whose key is destroyed. */
  writtenIn(profiles: readonly StoredEntity[]): Promise<{ table: string; identity: Identity }[]>;
}

export function sealedIdentities(keys: Pick<EntityKeys, "read">): SealedIdentities {
  return {
    async seal(identities) {
      const sealer = randomId();
      const { seal, newKeys } = batchSealing(keys);
      const sealerKey = newKeys([sealer]).get(sealer) as Uint8Array;
      const plain = Buffer.from(JSON.stringify(united(identities).map(({ field, value }) => [field, value])));
      const [sealed] = await seal([{ entity: sealer, plain }]);
      return { sealer, sealedIdentities: sealed as Uint8Array, sealerKey };
    },

    async open({ sealer, sealedIdentities }) {
      const [plain] = await sealing(keys).open([{ entity: sealer, sealed: sealedIdentities }]);
      if (plain === undefined) return [];
      const pairs = JSON.parse(Buffer.from(plain).toString()) as [string, string][];
      return pairs.map(([field, value]) => ({ field, value }));
    },

    async writtenIn(profiles) {
      const plain = await sealing(keys).open(profiles.map(({ id, sealed }) => ({ entity: id, sealed })));
      return profiles.flatMap(({ table }, index) => {
        const bytes = plain[index];
        return bytes === undefined ? [] : decodeDocument(bytes).identities.map((identity) => ({ table, identity }));
      });
    },
  };
}

/** Each identity once. */
function united(identities: readonly Identity[]): Identity[] {
  return [...new Map(identities.map((identity) => [identityKey(identity), identity])).values()];
}
