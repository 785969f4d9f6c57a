import type { EntityId } from "../../entities/profile/entity.js";
import type { Failpoint } from "../../failpoint.js";
import type { DownstreamTarget } from "../ports.js";

/** A store of our own that keeps data under the ids of entities. */
export interface ErasableStore {
  /** Removes everything about these entities. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;
  /** Whether anything about one of them is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}

/** A target over such a store. Erases the first entity in a call of its own, so that a failpoint lies between two calls. */
export function ownStore(name: string, store: ErasableStore, failpoint: Failpoint): DownstreamTarget {
  return {
    name,
    remote: false,

    async erase({ entities }) {
      failpoint("target-begun");
      await store.erase(entities.slice(0, 1));
      failpoint("target-half-erased");
      await store.erase(entities.slice(1));
      failpoint("target-erased");
    },

    verify: async ({ entities }) => !(await store.holds(entities)),
  };
}
