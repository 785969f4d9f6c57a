import type { EntityStore } from "../entities/entity-store.js";
import type { DownstreamTarget } from "./downstream-target.js";
import type { ErasureWatermark } from "./erasure-watermark.js";
import type { Ledger } from "./ledger.js";

export interface EraseAgainParts {
  readonly ledger: Pick<Ledger, "since" | "settledSequence">;
  readonly entities: Pick<EntityStore, "erase">;
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
  const { ledger, watermark, entities, targets } = parts;
  let from = await watermark.read();
  for (;;) {
    const page = await ledger.since(from, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    const ids = [...new Set(page.flatMap(({ deletion }) => deletion.entities))];
    await entities.erase(ids);
    for (const target of targets.filter(({ remote }) => !remote)) {
      await target.erase({ requestId: "", table: "", entities: ids, identities: [], cutOff: 0 });
    }
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
