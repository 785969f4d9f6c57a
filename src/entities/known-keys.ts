import type { EntityId } from "./entity.js";
import type { EntityKeys } from "./entity-keys.js";

/**
 * Keys that are asked for once, for the time that a batch takes. What is sealed under one that was destroyed since can be
 * read by nobody, as if it had been sealed just before; that its entity is dead is what refuses it, not the missing key.
 */
export class KnownKeys {
  readonly #keys: EntityKeys;
  readonly #known = new Map<EntityId, Uint8Array>();

  constructor(keys: EntityKeys) {
    this.#keys = keys;
  }

  /** Makes a key for each id that has none. */
  async create(ids: readonly EntityId[]): Promise<void> {
    if (ids.length > 0) this.#add(await this.#keys.create(ids));
  }

  /** The key of each id; absent where there is none, or it was destroyed before it was asked for. */
  async read(ids: readonly EntityId[]): Promise<Map<EntityId, Uint8Array>> {
    const unknown = ids.filter((id) => !this.#known.has(id));
    if (unknown.length > 0) this.#add(await this.#keys.read(unknown));
    return new Map(
      ids.flatMap((id) => {
        const key = this.#known.get(id);
        return key === undefined ? [] : [[id, key] as const];
      }),
    );
  }

  #add(keys: ReadonlyMap<EntityId, Uint8Array>): void {
    for (const [id, key] of keys) this.#known.set(id, key);
  }
}
