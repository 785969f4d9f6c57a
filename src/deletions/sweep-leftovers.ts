import type { EntityStore } from "../entities/entity-store.js";
import { dataIdsOf } from "./deletion.js";
import type { DownstreamTarget } from "./downstream-target.js";
import type { Ledger } from "./ledger.js";

export interface LeftoverParts {
  readonly ledger: Ledger;
  readonly entities: EntityStore;
  readonly targets: readonly DownstreamTarget[];
}

const PAGE = 200;

/**
 * Removes what a writer that slept through a whole erasure wrote under an erased id (nobody can read it: its key is
 * gone). Looks at one page of the ledger after sequence `from`, and hands out where to go on: 0 after the end.
 */
export async function sweepLeftovers({ ledger, entities, targets }: LeftoverParts, from: number): Promise<number> {
  const page = await ledger.since(from, PAGE);
  const completed = page.filter(({ deletion }) => deletion.completedAt !== undefined);
  const ids = [...new Set(completed.flatMap(({ deletion }) => dataIdsOf(deletion)))];
  if (ids.length > 0) {
    if (await entities.holds(ids)) await entities.erase(ids);
    const subject = { requestId: "", table: "", entities: ids, identities: [], cutOff: 0 };
    for (const target of targets.filter(({ remote }) => !remote)) {
      if (!(await target.verify(subject))) await target.erase(subject);
    }
  }
  return page.length < PAGE ? 0 : (page.at(-1)?.sequence ?? 0);
}
