import { ServiceError } from "../errors.js";
import type { CatalogueStore } from "./catalogue-store.js";

type Store = Pick<CatalogueStore, "deleteSegment" | "endMemberships">;

/** Deletes a segment and its memberships; its series stay. Refused while an experience names it. */
export async function deleteSegment(id: string, store: Store): Promise<void> {
  const outcome = await store.deleteSegment(id);
  if (outcome === "in-use") {
    throw new ServiceError(
      "conflict",
      "An experience names this segment as its audience or goal: change or delete it first",
    );
  }
  await store.endMemberships();
  if (outcome === "absent") throw new ServiceError("not-found", "Not Found");
}
