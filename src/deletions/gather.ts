import type { EntityId, StoredEntity } from "../entities/entity.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { History } from "../entities/history.js";
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
    const found = await contaminated(parts, deletion);
    if (found.length === 0) return deletion;
    const sealed = await parts.identities.add(deletion, await parts.identities.writtenIn(found));
    await parts.ledger.extend(requestId, deletion.revision, {
      entities: [...found.flatMap(idsOf), sealed.sealer],
      hashes: found.flatMap(({ bindings }) => bindings.map(({ hash }) => hash)),
      sealed,
    });
  }
  throw new Error("Writers kept adding to what is erased");
}

/** Every id that an entity's data stands under. */
export function idsOf({ id, joined }: StoredEntity): EntityId[] {
  return [id, ...joined];
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

/** Live profiles outside the request that hold something which it erases: an identity since before its cut-off, or one of its entities. */
async function contaminated(
  { entities, suppression }: GatherParts,
  { hashes, entities: named }: Deletion,
): Promise<StoredEntity[]> {
  const owners = await entities.owners(hashes);
  const live = await liveProfiles(entities, new Set([...owners.values(), ...named]));
  const others = await notErased(suppression, live);
  const own = new Set(named);
  const voids = await voidProfiles(suppression, others);
  return others.filter((profile) => voids.has(profile) || idsOf(profile).some((id) => own.has(id)));
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
