import type { Clock } from "../../clock.js";
import { stream } from "../dimensions/stream.js";
import type { LeaseResult, SlotCount, SlotCounts } from "../ports.js";
import { type Series, type SlotColumn, slotStart } from "../series.js";
import { PointFold } from "../slot-columns.js";

/** Slots are written in batches of this many. */
const BATCH = 500;

export interface CountParts {
  readonly clock: Clock;
  readonly counts: Pick<SlotCounts, "unsaved" | "saved">;
  /** Takes or renews the lease of the recorder that works. */
  lease(): Promise<LeaseResult>;
  /** Writes the recorder's plane. */
  write(columns: readonly SlotColumn[]): Promise<void>;
}

/**
 * Saves stream counts of slots that have ended and were never saved, or have grown since, however long no recorder ran. One
 * batch; true when more may be left.
 */
export async function recordCounts({ clock, counts, lease, write }: CountParts): Promise<boolean> {
  const ended = slotStart(stream, clock());
  if ((await counts.unsaved(ended, 1)).length === 0 || (await lease()) === "refused") return false;
  // Under the lease, so that they are not older than what another recorder has saved.
  const unsaved = await counts.unsaved(ended, BATCH);
  if ((await lease()) !== "renewed") return false;
  await write(columnsOf(unsaved));
  await counts.saved(unsaved);
  return unsaved.length === BATCH;
}

function columnsOf(counts: readonly SlotCount[]): SlotColumn[] {
  const series = new Map<string, Series>(
    counts.map(({ stream: id }) => [id, { dimension: stream, id, type: "size" }] as const),
  );
  const fold = new PointFold();
  for (const { stream: id, slot, count } of counts) fold.add(series.get(id) as Series, slot, count);
  return fold.columns();
}
