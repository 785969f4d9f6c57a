import type { Clock } from "../clock.js";
import { type ClaimParts, claimAndWrite } from "./claim-and-write.js";
import { stream } from "./dimensions/stream.js";
import { type Series, slotStart } from "./series.js";
import type { SlotCounts } from "./slot-counts.js";

/** Slots are claimed and written in batches of this many. */
const BATCH = 500;

export interface CountParts extends ClaimParts {
  readonly clock: Clock;
  readonly counts: SlotCounts;
  /** Whether this recorder is the one that works now. */
  lease(): Promise<boolean>;
}

/**
 * Saves stream counts of slots that have ended and were never saved, or have grown since: however long nobody looked, each is
 * still saved. One batch; true when more may be left.
 */
export async function recordCounts(parts: CountParts): Promise<boolean> {
  const counts = await parts.counts.unsaved(slotStart(stream, parts.clock()), BATCH);
  if (counts.length === 0 || !(await parts.lease())) return false;
  const series = new Map<string, Series>(
    counts.map(({ stream: id }) => [id, { dimension: stream, id, type: "size" }] as const),
  );
  await claimAndWrite(
    parts,
    counts.flatMap(({ stream: id, slot, count }) => {
      const counted = series.get(id);
      return counted === undefined ? [] : [{ series: counted, slot, value: count }];
    }),
    { grows: true },
  );
  await parts.counts.saved(counts);
  return counts.length === BATCH;
}
