import { ServiceError } from "../errors.js";
import { idsOf, type StoredEntity } from "./entity.js";
import type { EntityKeys } from "./entity-keys.js";
import type { EntityStore } from "./entity-store.js";
import type { History } from "./history.js";
import type { MembershipIndex } from "./membership-index.js";

export interface EraseUnreadableParts {
  readonly entities: EntityStore;
  readonly memberships: MembershipIndex;
  readonly history: History;
  readonly entityKeys: EntityKeys;
}

/**
 * Erases live profiles that could not be opened because their keys are destroyed: an erasure meant them, and its record may be
 * forgotten. When the ledger never had a key of one, it may be the wrong ledger: nothing is erased, and this rejects. Safe to repeat.
 */
export async function eraseUnreadable(parts: EraseUnreadableParts, profiles: readonly StoredEntity[]): Promise<void> {
  const { entities, memberships, history, entityKeys } = parts;
  const destroyed = await entityKeys.destroyed(profiles.map(({ id }) => id));
  if (profiles.some(({ id }) => !destroyed.has(id))) {
    throw new ServiceError("unavailable", "The ledger has no key of a profile");
  }
  const ids = profiles.flatMap(idsOf);
  await memberships.erase(ids);
  await history.erase(ids);
  await entityKeys.destroy(ids);
  // Last: until then the next message that names a profile finds it again.
  await entities.erase(ids);
}
