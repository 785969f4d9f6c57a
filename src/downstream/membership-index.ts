import type { DownstreamTarget } from "../deletions/downstream-target.js";
import type { MembershipIndex } from "../entities/membership-index.js";
import type { Failpoint } from "../failpoint.js";

/** Segment memberships of the erased. */
export function membershipIndexTarget(memberships: MembershipIndex, failpoint: Failpoint): DownstreamTarget {
  return {
    name: "membership-index",
    remote: false,

    async erase({ entities }) {
      await memberships.erase(entities.slice(0, 1));
      failpoint("K10");
      await memberships.erase(entities.slice(1));
    },

    verify: async ({ entities }) => !(await memberships.holds(entities)),
  };
}
