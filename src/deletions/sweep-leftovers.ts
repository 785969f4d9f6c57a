import type { EntityId } from "../entities/entity.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { Suppression } from "../entities/suppression.js";
import { type Deletion, dataIdsOf } from "./deletion.js";
import type { DownstreamTarget } from "./downstream-target.js";
import { idsOf, voidOwners } from "./gather.js";
import type { Ledger } from "./ledger.js";

export interface LeftoverParts {
  readonly ledger: Ledger;
  readonly entities: EntityStore;
  readonly suppression: Suppression;
  readonly entityKeys: EntityKeys;
  readonly targets: readonly DownstreamTarget[];
}

const PAGE = 200;

/**
 * Removes what a writer that slept through a whole erasure wrote: under an erased id (nobody can read it: its key is gone),
 * or under a new one that no request names, as a repeat of its message had taken the place of it. Looks at one page of the
 * ledger after sequence `from`, and hands out where to go on: 0 after the end.
 */
export async function sweepLeftovers(parts: LeftoverParts, from: number): Promise<number> {
  const { ledger, entities, entityKeys, targets } = parts;
  const page = await ledger.since(from, PAGE);
  const completed = page.flatMap(({ deletion }) => (deletion.completedAt === undefined ? [] : [deletion]));
  const unnamed = await unnamedIds(parts, completed);
  const ids = [...new Set([...completed.flatMap(dataIdsOf), ...unnamed])];
  // The profile goes last: until then the next look finds what this one could not finish.
  if (ids.length > 0) {
    const subject = { requestId: "", table: "", entities: ids, identities: [], cutOff: 0 };
    for (const target of targets.filter(({ remote }) => !remote)) {
      if (!(await target.verify(subject))) await target.erase(subject);
    }
    if (unnamed.length > 0) await entityKeys.destroy(unnamed);
    if (await entities.holds(ids)) await entities.erase(ids);
  }
  return page.length < PAGE ? 0 : (page.at(-1)?.sequence ?? 0);
}

/** Of live profiles that hold what was erased; those that an open request finds by itself are left to it. */
async function unnamedIds(parts: LeftoverParts, completed: readonly Deletion[]): Promise<EntityId[]> {
  const voids = await voidOwners(parts, [...new Set(completed.flatMap(({ hashes }) => hashes))]);
  const held = voids.flatMap(({ bindings }) => bindings.map(({ hash }) => hash));
  const open = new Set((await parts.ledger.openOver([...new Set(held)])).flatMap(({ hashes }) => hashes));
  return voids.filter(({ bindings }) => !bindings.some(({ hash }) => open.has(hash))).flatMap(idsOf);
}
