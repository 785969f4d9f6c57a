import type { EntityId, StoredEntity } from "../entities/entity.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { History } from "../entities/history.js";
import type { HashIdentity, Identity, IdentityHash } from "../entities/identity.js";
import type { Suppression } from "../entities/suppression.js";
import { type Deletion, dataIdsOf } from "./deletion.js";
import type { Ledger } from "./ledger.js";
import { liveProfiles } from "./live-profiles.js";
import type { SealedIdentities } from "./sealed-identities.js";

export interface GatherParts {
  readonly ledger: Ledger;
  readonly entities: EntityStore;
  readonly history: History;
  readonly suppression: Suppression;
  readonly identities: SealedIdentities;
  readonly hashIdentity: HashIdentity;
}

/** Each round needs a write that won a race in that very moment. */
const ROUNDS = 20;

/**
 * Stops writers that began before the request was kept, and takes what they still wrote into the request, until nothing
 * new is found. Resolves with the request as it then is, or undefined when it is not open any more. Safe to repeat.
 */
export async function gather(parts: GatherParts, requestId: string): Promise<Deletion | undefined> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const deletion = await parts.ledger.find(requestId);
    if (deletion === undefined || deletion.completedAt !== undefined) return undefined;
    await fenceWriters(parts, deletion);
    const { own, others } = await concerned(parts, deletion);
    const news = await knownAs(parts, [...own, ...others]);
    const hashes = news.hashes.filter((hash) => !deletion.hashes.includes(hash));
    // A profile of its own may have grown too: ids that were joined into it keep the messages that stand under them.
    const ids = [...own, ...others].flatMap(idsOf).filter((id) => !deletion.entities.includes(id));
    if (ids.length === 0 && hashes.length === 0) return deletion;
    const sealed = await parts.identities.add(deletion, news.identities);
    await parts.ledger.extend(requestId, deletion.revision, { entities: [...ids, sealed.sealer], hashes, sealed });
  }
  throw new Error("Writers kept adding to what is erased");
}

/** Every id that an entity's data stands under. */
export function idsOf({ id, joined }: StoredEntity): EntityId[] {
  return [id, ...joined];
}

/** Every identity of the profiles: those that lead to them, and those written in them, which may lead to a newer profile by now. */
export async function knownAs(
  { identities, hashIdentity }: Pick<GatherParts, "identities" | "hashIdentity">,
  profiles: readonly StoredEntity[],
): Promise<{ hashes: IdentityHash[]; identities: Identity[] }> {
  const written = await identities.writtenIn(profiles);
  const hashes = new Set([
    ...profiles.flatMap(({ bindings }) => bindings.map(({ hash }) => hash)),
    ...written.map(({ table, identity }) => hashIdentity(table, identity)),
  ]);
  return { hashes: [...hashes], identities: written.map(({ identity }) => identity) };
}

/**
 * A writer asks the suppression after its message is in the history. One that asked before the request was kept is
 * therefore seen here: its save is made to fail, and what it must not keep is dropped.
 */
async function fenceWriters({ entities, history, suppression }: GatherParts, deletion: Deletion): Promise<void> {
  const pending = await history.pendingFor(deletion.hashes, dataIdsOf(deletion));
  if (pending.length === 0) return;
  await entities.fence([...new Set([...dataIdsOf(deletion), ...pending.map(({ entity }) => entity)])]);
  const cutOffs = await suppression.cutOffs([...new Set(pending.flatMap(({ hashes }) => hashes))]);
  const late = pending.filter(({ hashes, time }) => hashes.some((hash) => time <= (cutOffs.get(hash) ?? -Infinity)));
  await history.drop(late.map(({ id }) => id));
}

/**
 * Live profiles that the request is about: its own, and those outside it that hold something which it erases: one of its
 * entities, also when another request names the profile, or an identity since before its cut-off, unless another does.
 */
async function concerned(
  { entities, suppression }: GatherParts,
  deletion: Deletion,
): Promise<{ own: StoredEntity[]; others: StoredEntity[] }> {
  const owners = await entities.owners(deletion.hashes);
  const live = await liveProfiles(entities, new Set([...owners.values(), ...dataIdsOf(deletion)]));
  const ids = new Set(deletion.entities);
  const notOwn = live.filter(({ id }) => !ids.has(id));
  const voids = await voidProfiles(suppression, await notErased(suppression, notOwn));
  return {
    own: live.filter(({ id }) => ids.has(id)),
    others: notOwn.filter((profile) => voids.has(profile) || idsOf(profile).some((id) => ids.has(id))),
  };
}

/** Profiles that one of these identities leads to, and of which an identity is older than its cut-off. */
export async function voidOwners(
  { entities, suppression }: Pick<GatherParts, "entities" | "suppression">,
  hashes: readonly IdentityHash[],
): Promise<StoredEntity[]> {
  const owners = await entities.owners(hashes);
  return [...(await voidProfiles(suppression, await liveProfiles(entities, owners.values())))];
}

/** Profiles that no deletion names yet. */
export async function notErased(suppression: Suppression, profiles: readonly StoredEntity[]): Promise<StoredEntity[]> {
  const erased = await suppression.erased(profiles.map(({ id }) => id));
  return profiles.filter(({ id }) => !erased.has(id));
}

/** Profiles of which an identity is older than its cut-off: they hold what was to be erased. */
export async function voidProfiles(
  suppression: Suppression,
  profiles: readonly StoredEntity[],
): Promise<Set<StoredEntity>> {
  const cutOffs = await suppression.cutOffs([
    ...new Set(profiles.flatMap(({ bindings }) => bindings.map(({ hash }) => hash))),
  ]);
  return new Set(
    profiles.filter(({ bindings }) => bindings.some(({ hash, since }) => since <= (cutOffs.get(hash) ?? -Infinity))),
  );
}
