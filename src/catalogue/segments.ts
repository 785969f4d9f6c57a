import { notFound, ServiceError } from "../errors.js";
import type { CatalogueStore } from "./ports.js";

/**
 * Deletes a segment and its memberships at `at` (see `CatalogueStore`); its series stay. Refused while an experience
 * names it.
 */
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
  if (outcome === "absent") throw notFound("segment");
}

/** Returns the first `limit` segment ids of the catalogue, in order. */
export async function firstSegmentIds(store: Pick<CatalogueStore, "segmentIds">, limit: number): Promise<string[]> {
  return (await store.segmentIds(undefined, limit)).sort();
}
