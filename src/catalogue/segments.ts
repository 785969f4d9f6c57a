import { notFound, ServiceError } from "../errors.js";
import type { CatalogueStore } from "./ports.js";

/** Maximum users of a segment that an error names. */
const MAX_NAMED_USERS = 10;

/**
 * Deletes a segment and its memberships at `at` (see `CatalogueStore`); its series stay. Refused while an experience or
 * a rule names it.
 */
export async function deleteSegment(
  id: string,
  at: number,
  store: Pick<CatalogueStore, "deleteSegment">,
): Promise<void> {
  const outcome = await store.deleteSegment(id, at);
  if (outcome === "absent") throw notFound("segment");
  if (outcome === "deleted") return;
  const users = [
    ...outcome.experiences.map((user) => `experience ${user}`),
    ...outcome.rules.map((user) => `the rule of segment ${user}`),
  ];
  const named = users.slice(0, MAX_NAMED_USERS).join(", ");
  throw new ServiceError("conflict", `This segment is named by ${named}: change or delete them first`);
}
