import { pacer } from "../async/yielding.js";
import type { EntityId, StoredEntity } from "./entity.js";
import { decodeDocument, type OpenedDocument } from "./entity-document.js";
import type { EntityStore } from "./entity-store.js";
import type { IdentityHash } from "./identity.js";
import type { Sealing } from "./sealed.js";
import type { Suppression } from "./suppression.js";

export interface ProfileSources {
  readonly entities: Pick<EntityStore, "find">;
  readonly suppression: Suppression;
}

export interface OpenProfile {
  readonly entity: StoredEntity;
  readonly opened: OpenedDocument;
}

/** What a batch of messages is planned from. */
export interface FoundProfiles {
  /** Who holds each identity; undefined: no entity does. It may be one that is being erased. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** The live ones among them, by id. */
  readonly profiles: ReadonlyMap<EntityId, OpenProfile>;
  /** Live ones that cannot be opened, as they have no key. */
  readonly unreadable: readonly StoredEntity[];
  /** Newest cut-off of each identity that was ever asked to be erased. */
  readonly cutOffs: ReadonlyMap<IdentityHash, number>;
}

/** Looks up what identities lead to, and what was asked to be erased of them. */
export async function findProfiles(
  { entities, suppression }: ProfileSources,
  sealing: Sealing,
  hashes: readonly IdentityHash[],
): Promise<FoundProfiles> {
  const [found, cutOffs] = await Promise.all([entities.find(hashes), suppression.cutOffs(hashes)]);
  const live = [...found.profiles.values()];
  const plain = await sealing.open(live.map(({ id, sealed }) => ({ entity: id, sealed })));
  const pace = pacer();
  const profiles = new Map<EntityId, OpenProfile>();
  for (const [index, entity] of live.entries()) {
    const bytes = plain[index];
    if (bytes === undefined) continue;
    profiles.set(entity.id, { entity, opened: { document: decodeDocument(bytes), bytes: bytes.length } });
    await pace();
  }
  const unreadable = live.filter(({ id }) => !profiles.has(id));
  return { owners: new Map(hashes.map((hash) => [hash, found.owners.get(hash)])), profiles, unreadable, cutOffs };
}
