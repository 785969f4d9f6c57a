import type { EntityId } from "./entity.js";
import type { IdentityHash } from "./identity.js";

/** PORT. Who must not come back. Answers see every deletion accepted before the call. */
export interface Suppression {
  /** The newest cut-off (Unix ms) of each identity that was ever asked to be erased; the others are absent. */
  cutOffs(hashes: readonly IdentityHash[]): Promise<Map<IdentityHash, number>>;
  /** Which of these entities an accepted deletion names. */
  erased(ids: readonly EntityId[]): Promise<Set<EntityId>>;
}
