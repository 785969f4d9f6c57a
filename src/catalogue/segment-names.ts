import type { CatalogueStore } from "./catalogue-store.js";

/** Ids of segments that messages name and what the catalogue calls them. */
export function segmentNames(store: Pick<CatalogueStore, "registerSegments" | "segmentsById">) {
  return {
    /** Registers ids that the catalogue does not know, with their id as name. Safe to repeat. */
    async register(ids: readonly string[], table: string): Promise<void> {
      await store.registerSegments(ids.map((id) => ({ id, name: id, table })));
    },

    /** The name of each id; ids that the catalogue does not know are absent. */
    async names(ids: readonly string[]): Promise<Map<string, string>> {
      const segments = await store.segmentsById(ids);
      return new Map([...segments].map(([id, { name }]) => [id, name]));
    },
  };
}
