import type { EntityId } from "./entity.js";

/**
 * PORT. One AES-256 key an entity: 32 random bytes in a record of one size. It is added by `EntityStore.commit` with the profile, or by the ledger with
 * the list of identities, that is sealed under it. Only `sealed` reads them.
 */
export interface EntityKeys {
  /** The key of each id; absent where there is none, or it was destroyed. */
  read(ids: readonly EntityId[]): Promise<Map<EntityId, Uint8Array>>;
  /**
   * Overwrites the keys in place. Resolves when no file of the store holds a byte of them any more (journal included);
   * rejects when that cannot be confirmed yet. Safe to repeat.
   */
  destroy(ids: readonly EntityId[]): Promise<void>;
  /** Which of these ids had a key that was destroyed. */
  destroyed(ids: readonly EntityId[]): Promise<Set<EntityId>>;
  /** Whether any of these ids still has a key. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}
