import type { EntityKeys } from "../entities/entity-keys.js";
import { type Deletion, dataIdsOf } from "./deletion.js";
import type { DownstreamTarget } from "./downstream-target.js";
import type { ErasureWatermark } from "./erasure-watermark.js";
import { type GatherParts, idsOf, voidOwners } from "./gather.js";

export interface EraseAgainParts extends Omit<GatherParts, "identities"> {
  readonly entityKeys: EntityKeys;
  readonly watermark: ErasureWatermark;
  /** Those of our own: data restored elsewhere is erased there. */
  readonly targets: readonly DownstreamTarget[];
}

/** Small enough that each step of a page takes a slow store well below a deadline. */
const PAGE = 50;

/**
 * Brings entity data that may come from a backup up to the ledger: erases everything again that was asked for since the
 * data's watermark. To be run before the first read. Safe to repeat.
 */
export async function eraseAgain(parts: EraseAgainParts): Promise<void> {
  const { ledger, watermark } = parts;
  let from = await watermark.read();
  for (;;) {
    const page = await ledger.since(from, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    await erasePage(
      parts,
      page.map(({ deletion }) => deletion),
    );
    from = last.sequence;
  }
  await advanceWatermark(parts);
}

/** Notes with the data how much of the ledger it has seen: everything before the oldest open request. */
export async function advanceWatermark({
  ledger,
  watermark,
}: Pick<EraseAgainParts, "ledger" | "watermark">): Promise<void> {
  const sequence = await ledger.settledSequence();
  if (sequence > (await watermark.read())) await watermark.write(sequence);
}

async function erasePage(parts: EraseAgainParts, deletions: readonly Deletion[]): Promise<void> {
  const { entities, history, suppression, entityKeys, targets } = parts;
  const hashes = [...new Set(deletions.flatMap((deletion) => deletion.hashes))];
  const unnamed = (await voidOwners(parts, hashes)).flatMap(idsOf);
  const ids = [...new Set([...deletions.flatMap(dataIdsOf), ...unnamed])];

  // Profiles that no request names go last: until then another attempt finds them.
  await entities.erase(ids.filter((id) => !unnamed.includes(id)));
  for (const target of targets.filter(({ remote }) => !remote)) {
    await target.erase({ requestId: "", table: "", entities: ids, identities: [], cutOff: 0 });
  }
  const pending = await history.pendingFor(hashes, []);
  const cutOffs = await suppression.cutOffs(hashes);
  const late = pending.filter((message) =>
    message.hashes.some((hash) => message.time <= (cutOffs.get(hash) ?? -Infinity)),
  );
  await entities.fence([...new Set(late.map(({ entity }) => entity))]);
  await history.drop(late.map(({ id }) => id));
  if (unnamed.length > 0) {
    await entityKeys.destroy(unnamed);
    await entities.erase(unnamed);
  }
}
