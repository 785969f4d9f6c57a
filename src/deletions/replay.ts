import type { Deletion } from "./deletion.js";
import { type ErasingParts, eraseEverywhere, placesOf, StageError } from "./erase-everywhere.js";
import { type DownstreamTarget, type ErasureWatermark, type Ledger, TargetError } from "./ports.js";

export interface ReplayParts extends ErasingParts {
  readonly ledger: Pick<Ledger, "since" | "settledSequence">;
  readonly watermark: ErasureWatermark;
}

/** Requests that are erased at once. Stores make few calls of them, each well below a deadline. */
const PAGE = 200;

/**
 * Brings entity data that may come from a backup up to the ledger: erases every request again that was accepted since the
 * data's watermark, in the profiles and in the targets of our own, and verifies them. To be run before the first read. Safe to repeat. Rejects as a
 * store does, or when what a completed one names is not clean afterwards.
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
    await Promise.all(page.map(({ deletion }) => eraseAgain(parts, deletion, places)));
    from = last.sequence;
  }
  await advanceWatermark(parts);
}

async function eraseAgain(parts: ReplayParts, deletion: Deletion, places: readonly DownstreamTarget[]): Promise<void> {
  try {
    // Stages that are done say nothing about data that was restored.
    await eraseEverywhere(parts, { ...deletion, done: [] }, places);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    // Another process may be extending an open request now. Its run verifies what it erases, and the watermark stays before it.
    if (deletion.completedAt === undefined && error.cause instanceof TargetError) return;
    throw error.cause;
  }
}

/** Notes with the data how much of the ledger it has seen: everything before the oldest open request. */
export async function advanceWatermark({
  ledger,
  watermark,
}: Pick<ReplayParts, "ledger" | "watermark">): Promise<void> {
  const sequence = await ledger.settledSequence();
  if (sequence > (await watermark.read())) await watermark.write(sequence);
}
