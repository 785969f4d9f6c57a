import type { EntityStore } from "../entities/ports.js";
import type { Deletion } from "./deletion.js";
import { eraseFrom, erasureTargets, StageError, verifyAll } from "./erase.js";
import { type DeletionWatermark, type DownstreamTarget, type Ledger, TargetError } from "./ports.js";

export interface ReplayDependencies {
  readonly ledger: Pick<Ledger, "since" | "settledSequence">;
  readonly entities: Pick<EntityStore, "erase" | "holds">;
  readonly targets: readonly DownstreamTarget[];
  readonly watermark: DeletionWatermark;
}

/** Requests erased concurrently. Stores group them into few calls, each well below a deadline. */
const PAGE = 200;

/**
 * Brings entity data that may come from a backup up to date with the ledger: erases every request accepted since the
 * data's watermark again, from the profiles and our own targets, and verifies the result. Run it before the first read.
 * Safe to repeat. Rejects as a store does, or when a completed request is not clean afterwards.
 */
export async function replayLedger(dependencies: ReplayDependencies): Promise<void> {
  const { ledger, watermark } = dependencies;
  let from = await watermark.read();
  for (;;) {
    const page = await ledger.since(from, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    await Promise.all(page.map(({ deletion }) => eraseAgain(dependencies, deletion)));
    from = last.sequence;
  }
  await advanceWatermark(dependencies);
}

async function eraseAgain({ entities, targets }: ReplayDependencies, deletion: Deletion): Promise<void> {
  // Remote targets are not restored with our data.
  const own = targets.filter(({ remote }) => !remote);
  const all = erasureTargets(
    entities,
    own,
    own.map(({ name }) => name),
  );
  try {
    for (const target of all) await eraseFrom(target, deletion);
    await verifyAll(all, deletion);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    // An open request is verified by its own run, and the watermark stays before it.
    if (deletion.completedAt === undefined && error.cause instanceof TargetError) return;
    throw error.cause;
  }
}

/** Advances the data's watermark to the last request before the oldest open one. */
export async function advanceWatermark({
  ledger,
  watermark,
}: {
  readonly ledger: Pick<Ledger, "settledSequence">;
  readonly watermark: DeletionWatermark;
}): Promise<void> {
  const sequence = await ledger.settledSequence();
  if (sequence > (await watermark.read())) await watermark.write(sequence);
}
