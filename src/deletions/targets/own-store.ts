import type { EntityId } from "../../entities/profile/entity.js";
import type { Failpoint } from "../../failpoint.js";
import type { DownstreamTarget } from "../ports.js";

/** One of our own stores, which keeps data by entity id. */
export interface ErasableStore {
  /** Removes all data about these entities. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;
  /** Returns whether any data about these entities is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}

/** Wraps a store as a target. */
export function ownStore(name: string, store: ErasableStore, failpoint: Failpoint): DownstreamTarget {
  return {
    name,
    remote: false,

    async erase({ entities }) {
      failpoint("target-begun");
      await store.erase(entities);
      failpoint("target-erased");
    },

    verify: async ({ entities }) => !(await store.holds(entities)),
  };
}
