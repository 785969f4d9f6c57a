import type { Clock } from "../clock.js";
import type { Census } from "./census.js";
import { type ClaimParts, writeClaims } from "./claim-and-write.js";
import type { Dimension } from "./dimensions/dimension.js";
import { recordCounts } from "./record-counts.js";
import { sizeRecorder } from "./record-sizes.js";
import type { SeriesStore } from "./series-store.js";
import type { SlotCounts } from "./slot-counts.js";

/** A recorder that works keeps the others off for this long, ms; one that died, too. */
const LEASE_MS = 5_000;

/** Claims written again at once, at most. */
const BATCH = 500;

/**
 * The recorder never goes back to a size, so its claims are of use only while a clock may be set back; without one, the
 * value in the series store still keeps the slot from being written twice. Claims of counts stay as long as the series do:
 * they tell a count that may be raised by late messages from a value that somebody wrote.
 */
const KEEP_SIZE_CLAIMS_MS = 2 * 24 * 3_600_000;
const FORGET_EVERY_MS = 3_600_000;

export interface RecorderParts extends ClaimParts {
  readonly clock: Clock;
  readonly dimensions: readonly Dimension[];
  readonly census: Census;
  readonly counts: SlotCounts;
  readonly series: Pick<SeriesStore, "read" | "expire">;
  /** Tells this recorder from others over the same stores. */
  readonly owner: string;
  /** How long series are kept, ms; undefined for ever. */
  readonly keep: number | undefined;
}

/** Writes what the service itself measures. Several over the same stores do no harm: one works at a time. */
export interface Recorder {
  /**
   * Does what is due now, or a bounded part of it; true when more is left. A part that fails does not keep the others from
   * being done; then it rejects at the end. What a tick left undone, or half done, a later one does.
   */
  tick(): Promise<boolean>;
}

export function createRecorder(parts: RecorderParts): Recorder {
  const lease = () => {
    const now = parts.clock();
    return parts.claims.lease("recorder", parts.owner, now, now + LEASE_MS);
  };
  const sizes = parts.dimensions.flatMap((dimension) =>
    dimension.sampling === undefined ? [] : [sizeRecorder({ ...parts, lease }, dimension, dimension.sampling)],
  );
  const steps: readonly (() => Promise<boolean>)[] = [
    () => finishClaims(parts, lease),
    ...sizes,
    () => recordCounts({ ...parts, lease }),
    forgetOld(parts),
  ];

  return {
    async tick() {
      let more = false;
      const failures: unknown[] = [];
      for (const step of steps) {
        try {
          more = (await step()) || more;
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
      return more;
    },
  };
}

/** Writes values that were claimed by a recorder which then died, for the slots that they were taken in. */
async function finishClaims(parts: RecorderParts, lease: () => Promise<boolean>): Promise<boolean> {
  if ((await parts.claims.unsettled(parts.dimensions, 1)).length === 0 || !(await lease())) return false;
  return parts.gate.recorder(async () => {
    const unsettled = await parts.claims.unsettled(parts.dimensions, BATCH);
    await writeClaims(parts, unsettled);
    return unsettled.length === BATCH;
  });
}

/** Forgets claims that are of no more use, and what is older than is kept. */
function forgetOld({ clock, claims, series, dimensions, keep }: RecorderParts): () => Promise<boolean> {
  const sampled = dimensions.filter(({ sampling }) => sampling !== undefined);
  let forgotAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock();
    if (Math.abs(now - forgotAt) < FORGET_EVERY_MS) return false;
    await claims.forget(sampled, now - KEEP_SIZE_CLAIMS_MS);
    if (keep !== undefined) {
      await series.expire(now - keep);
      await claims.forget(dimensions, now - keep);
    }
    forgotAt = now;
    return false;
  };
}
