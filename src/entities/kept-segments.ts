import type { BatchMessage } from "./batch-message.js";
import type { EntityId } from "./entity.js";
import type { SegmentsKept } from "./limit-check.js";
import type { MembershipIndex } from "./membership-index.js";
import { segmentsNamedIn } from "./message.js";

/** Lists that are remembered at a time: each may hold as many segments as an entity may have. */
const LISTS = 8;

/** The statements that are kept of the entities a batch is about; none where nothing is added to them that may be refused. */
export async function keptSegments(
  memberships: MembershipIndex,
  batch: readonly BatchMessage[],
  entities: readonly { readonly id: EntityId }[],
): Promise<SegmentsKept> {
  const ids = batch.some((one) => one.entity === undefined && mayAddSegments(one)) ? entities.map(({ id }) => id) : [];
  const lists = new Map<string, Promise<ReadonlySet<string>>>();
  return {
    counts: ids.length === 0 ? new Map() : await memberships.counts(ids),
    mentioned(some) {
      const key = some.join();
      const list = lists.get(key) ?? memberships.mentioned(some);
      lists.delete(key);
      lists.set(key, list);
      for (const oldest of [...lists.keys()].slice(0, -LISTS)) lists.delete(oldest);
      return list;
    },
  };
}

/** Whether an entity may have more segments after this message: by what it says, or by a merge. */
export function mayAddSegments({ hashes, message }: BatchMessage): boolean {
  return hashes.length > 1 || segmentsNamedIn(message).length > 0;
}
