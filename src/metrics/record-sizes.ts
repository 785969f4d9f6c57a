import { setImmediate } from "node:timers/promises";
import type { Clock } from "../clock.js";
import type { Census } from "./census.js";
import { type ClaimParts, claimAndWrite } from "./claim-and-write.js";
import type { Dimension, Sampling } from "./dimensions/dimension.js";
import { slotStart } from "./series.js";

/** Ids that are new in mid-slot are looked for this often, ms. */
const LOOK_MS = 5_000;

/** Slots are claimed and written in batches of this many; between them others get their turn. */
const BATCH = 250;

export interface SizeParts extends ClaimParts {
  readonly clock: Clock;
  readonly census: Census;
  /** Whether this recorder is the one that works now. */
  lease(): Promise<boolean>;
}

/** What this process knows to be done of the slot that holds now. */
interface Progress {
  readonly slot: number;
  readonly done: Set<string>;
  lookedAt: number;
}

/**
 * Takes the values of one dimension once for the slot that holds now, as soon as there is something to take. Says false:
 * nothing is left that could not wait.
 */
export function sizeRecorder(parts: SizeParts, dimension: Dimension, sampling: Sampling): () => Promise<boolean> {
  let progress: Progress | undefined;
  return async () => {
    const now = parts.clock();
    const slot = slotStart(dimension, now);
    if (progress?.slot !== slot) progress = { slot, done: new Set(), lookedAt: Number.NEGATIVE_INFINITY };
    const { done, lookedAt } = progress;
    if (Math.abs(now - lookedAt) < LOOK_MS) return false;

    const missing = new Set((await sampling.ids(parts.census)).filter((id) => !done.has(id)));
    if (missing.size > 0) {
      if (!(await parts.lease())) return false;
      const samples = await sampling.sample(parts.census, missing);
      if (slotStart(dimension, parts.clock()) !== slot) return false;
      for (let at = 0; at < samples.length; at += BATCH) {
        if (at > 0) await setImmediate();
        const batch = samples.slice(at, at + BATCH);
        await claimAndWrite(
          parts,
          batch.map(({ id, type, value }) => ({ series: { dimension, id, type }, slot, value })),
          { grows: false },
        );
      }
      for (const { id } of samples) done.add(id);
    }
    progress.lookedAt = now;
    return false;
  };
}
