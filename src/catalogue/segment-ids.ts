import type { CatalogueStore } from "./catalogue-store.js";

/** The ids of the segments that the catalogue knows. */
export function segmentIds(store: Pick<CatalogueStore, "segments">) {
  return {
    /** The first `limit` ids, in order. */
    async first(limit: number): Promise<string[]> {
      return (await store.segments(undefined, limit)).map(({ id }) => id).sort();
    },
  };
}
