import type { DownstreamTarget } from "../deletions/downstream-target.js";
import type { History } from "../entities/history.js";
import type { Failpoint } from "../failpoint.js";

/** Archived messages of the erased. */
export function historyArchiveTarget(history: History, failpoint: Failpoint): DownstreamTarget {
  return {
    name: "history-archive",
    remote: false,

    async erase({ entities }) {
      await history.erase(entities.slice(0, 1));
      failpoint("K10");
      await history.erase(entities.slice(1));
    },

    verify: async ({ entities }) => !(await history.holds(entities)),
  };
}
