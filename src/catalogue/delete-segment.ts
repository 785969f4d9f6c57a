import { ServiceError } from "../errors.js";
import type { CatalogueStore } from "./catalogue-store.js";
import type { SegmentMembers } from "./segment-members.js";

type Store = Pick<CatalogueStore, "deleteSegment" | "removed" | "forgetRemoved">;
type Members = Pick<SegmentMembers, "removeSegment">;

/** Deletes a segment and its memberships; its series stay. Refused while an experience names it. */
export async function deleteSegment(id: string, store: Store, members: Members): Promise<void> {
  const outcome = await store.deleteSegment(id);
  if (outcome === "in-use") {
    throw new ServiceError(
      "conflict",
      "An experience names this segment as its audience or goal: change or delete it first",
    );
  }
  await finishDeletedSegments(store, members);
  if (outcome === "absent") throw new ServiceError("not-found", "Not Found");
}

/** Removes what is left of segments whose deletion was cut short, so that a segment put again starts empty. Safe to repeat. */
export async function finishDeletedSegments(store: Omit<Store, "deleteSegment">, members: Members): Promise<void> {
  for (;;) {
    const ids = await store.removed(100);
    if (ids.length === 0) return;
    for (const id of ids) {
      await members.removeSegment(id);
      await store.forgetRemoved(id);
    }
  }
}
