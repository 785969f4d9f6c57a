import { eachPage } from "../async/pages.js";
import type { EntityKeys, EntityStore, ListedKey } from "../entities/ports.js";
import { StartError } from "../errors.js";
import type { Facts } from "../facts.js";
import type { Deletion } from "./deletion.js";
import { eraseFrom, profileTarget, StageError, verifyAll } from "./erase.js";
import { type DownstreamTarget, ERASED, type Ledger, TargetError } from "./ports.js";

export interface ReplayDependencies {
  readonly ledger: Pick<Ledger, "since" | "settledSequence" | "forgottenSequence">;
  readonly entityKeys: Pick<EntityKeys, "list">;
  readonly entities: Pick<EntityStore, "erase" | "holds">;
  readonly targets: readonly DownstreamTarget[];
  readonly facts: Pick<Facts, "number" | "raise">;
}

/** Requests erased concurrently. Stores group them into few calls, each well below a deadline. */
const PAGE = 200;

/**
 * Brings entity data that may come from a backup up to date with the ledger: erases every request accepted since the
 * data's watermark again, from the profiles and our own targets, and verifies the result. Run it before the first read.
 * Safe to repeat. Rejects as a store does, or when a completed request is not clean afterwards, or with a `StartError`
 * if the data contains a person whose request the ledger has forgotten.
 */
export async function replayLedger(dependencies: ReplayDependencies): Promise<void> {
  const { ledger, facts } = dependencies;
  let from = await facts.number(ERASED);
  for (;;) {
    const page = await ledger.since(from, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    await Promise.all(page.map(({ deletion }) => eraseAgain(dependencies, deletion)));
    from = last.sequence;
  }
  await refuseForgotten(dependencies);
  await advanceWatermark(dependencies);
}

/** Returns the profiles and our own other targets. Remote targets are not restored with our data. */
function ownTargets({ entities, targets }: ReplayDependencies): readonly DownstreamTarget[] {
  return [profileTarget(entities), ...targets.filter(({ remote }) => !remote)];
}

async function eraseAgain(dependencies: ReplayDependencies, deletion: Deletion): Promise<void> {
  const all = ownTargets(dependencies);
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

/**
 * Refuses data that contains a person whose request the ledger has forgotten: the rest of the erasure cannot be
 * repeated. The key of such a person is destroyed, and its record is never removed. Reads all keys, but only if a
 * forgotten request is newer than the watermark: in data from a backup, or while an earlier request is open.
 */
async function refuseForgotten(dependencies: ReplayDependencies): Promise<void> {
  const { ledger, facts, entityKeys } = dependencies;
  if ((await ledger.forgottenSequence()) <= (await facts.number(ERASED))) return;
  for await (const keys of eachPage<ListedKey>((last, limit) => entityKeys.list(last?.id ?? "", limit))) {
    const entities = keys.filter(({ isDestroyed }) => isDestroyed).map(({ id }) => id);
    for (const target of ownTargets(dependencies)) {
      const subject = { requestId: "", table: "", cutOff: 0, hashes: [], identities: [], left: {}, entities };
      if (await target.verify(subject)) continue;
      throw new StartError(
        "The data is older than deletions that its ledger has forgotten (deletions.retention): put back newer data",
      );
    }
  }
}

/** Advances the data's watermark to the last request before the oldest open one. */
export async function advanceWatermark({
  ledger,
  facts,
}: {
  readonly ledger: Pick<Ledger, "settledSequence">;
  readonly facts: Pick<Facts, "number" | "raise">;
}): Promise<void> {
  const sequence = await ledger.settledSequence();
  if (sequence > (await facts.number(ERASED))) await facts.raise(ERASED, sequence);
}
