import { type ErasingParts, eraseEverywhere, placesOf, StageError } from "./erase-everywhere.js";
import type { ErasureWatermark, Ledger } from "./ports.js";

export interface ReplayParts extends ErasingParts {
  readonly ledger: Pick<Ledger, "since" | "settledSequence">;
  readonly watermark: ErasureWatermark;
}

/** Requests that are erased at once. Stores make few calls of them, each well below a deadline. */
const PAGE = 200;

/**
 * Brings entity data that may come from a backup up to the ledger: erases every request again that was accepted since the
 * data's watermark, in the profiles and in the targets of our own, and verifies them. To be run before the first read. Safe to repeat. Rejects as a
 * store does, or when one is not clean afterwards.
 */
export async function replayLedger(parts: ReplayParts): Promise<void> {
  const { ledger, watermark, targets } = parts;
  // A remote target's data is not restored with ours.
  const own = targets.filter(({ remote }) => !remote);
  const places = placesOf(
    parts,
    own.map(({ name }) => name),
  );
  let from = await watermark.read();
  for (;;) {
    const page = await ledger.since(from, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    // Stages that are done say nothing about data that was restored.
    const erase = ({ deletion }: (typeof page)[number]) => eraseEverywhere(parts, { ...deletion, done: [] }, places);
    await Promise.all(page.map(erase)).catch(throwCause);
    from = last.sequence;
  }
  await advanceWatermark(parts);
}

function throwCause(error: unknown): never {
  throw error instanceof StageError ? error.cause : error;
}

/** Notes with the data how much of the ledger it has seen: everything before the oldest open request. */
export async function advanceWatermark({
  ledger,
  watermark,
}: Pick<ReplayParts, "ledger" | "watermark">): Promise<void> {
  const sequence = await ledger.settledSequence();
  if (sequence > (await watermark.read())) await watermark.write(sequence);
}
