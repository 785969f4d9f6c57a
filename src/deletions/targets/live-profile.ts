import type { EntityStore } from "../../entities/ports.js";
import { PROFILE } from "../deletion.js";
import type { DownstreamTarget } from "../ports.js";

/**
 * The live profiles and the identities that lead to them. A store may keep an identity without a profile under the id
 * of the request.
 */
export function liveProfile(entities: Pick<EntityStore, "erase" | "holds">): DownstreamTarget {
  return {
    name: PROFILE,
    remote: false,
    erase: ({ requestId, entities: ids }) => entities.erase([...ids, requestId]),
    verify: async ({ requestId, entities: ids }) => !(await entities.holds([...ids, requestId])),
  };
}
