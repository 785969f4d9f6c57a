import { ServiceError } from "../errors.js";
import type { CatalogueStore } from "./ports.js";

/** Deletes a segment and its memberships at `at` (see `CatalogueStore`); its series stay. Refused while an experience names it. */
export async function deleteSegment(
  id: string,
  at: number,
  store: Pick<CatalogueStore, "deleteSegment">,
): Promise<void> {
  const outcome = await store.deleteSegment(id, at);
  if (outcome === "in-use") {
    throw new ServiceError(
      "conflict",
      "An experience names this segment as its audience or goal: change or delete it first",
    );
  }
  if (outcome === "absent") throw new ServiceError("not-found", "Not Found");
}

/** The ids of the first `limit` segments that the catalogue knows, in order. */
export async function firstSegmentIds(store: Pick<CatalogueStore, "segmentIds">, limit: number): Promise<string[]> {
  return (await store.segmentIds(undefined, limit)).sort();
}

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
