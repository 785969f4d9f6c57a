import type { CatalogueStore } from "./catalogue-store.js";

/** Ids of segments that messages name and what the catalogue calls them. */
export function segmentNames(store: Pick<CatalogueStore, "segmentsById">) {
  return {
    /** The name of each id; ids that the catalogue does not know are absent. */
    async names(ids: readonly string[]): Promise<Map<string, string>> {
      const segments = await store.segmentsById(ids);
      return new Map([...segments].map(([id, { name }]) => [id, name]));
    },
  };
}
