import type { EntityId } from "../../src/entities/profile/entity.js";
import type { Stores } from "../../src/stores/stores.js";

/** Returns the names of the stores that contain data or keys of any of these entities. */
export async function holdersOf(
  stores: Pick<Stores, "entities" | "memberships" | "history" | "entityKeys">,
  ids: readonly EntityId[],
): Promise<string[]> {
  const ports = ["entities", "memberships", "history"] as const;
  const held = await Promise.all(ports.map((port) => stores[port].holds(ids)));
  const keys = await stores.entityKeys.read(ids);
  return [...ports.filter((_, index) => held[index]), ...(keys.size > 0 ? ["entityKeys"] : [])];
}
