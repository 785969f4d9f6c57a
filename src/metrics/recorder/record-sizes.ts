import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../clock.js";
import type { Meters } from "../../meters.js";
import type { AudienceCounts, Dimension, Sampling } from "../dimensions.js";
import type { LeaseResult, SeriesStore } from "../ports.js";
import { type Series, type SlotColumn, slotStart } from "../series.js";

/** Interval of checks for new ids of the catalogue during a slot, ms. */
const ASK_EVERY_MS = 5_000;

/** Samples per write; other work runs between writes. */
const BATCH = 250;

/** Maximum samples that wait while the store is unreachable; then the oldest are dropped. */
const MAX_UNWRITTEN = 100_000;

export interface SizeDependencies {
  readonly clock: Clock;
  readonly audiences: AudienceCounts;
  readonly series: Pick<SeriesStore, "read">;
  readonly missed: CountMissed;
  /** Takes or renews the lease of the active recorder. */
  lease(): Promise<LeaseResult>;
  /** Writes as the recorder. */
  write(columns: readonly SlotColumn[]): Promise<void>;
}

/** State of this process for the current slot. */
interface Progress {
  readonly slot: number;
  readonly sampled: Set<string>;
  askedAt: number;
  /** Whether the slot was sampled, or another recorder is sampling it. */
  isSettled: boolean;
}

/** A value taken in the slot that starts at `slot`, Unix ms. */
interface SlotSample {
  readonly series: Series;
  readonly slot: number;
  readonly value: number;
}

/**
 * Samples the values of one dimension once in each slot, as early as possible, and writes them to slots that are still
 * empty. Samples that cannot be written wait for a later call, even after the end of their slot.
 */
export function sizeRecorder(
  dependencies: SizeDependencies,
  dimension: Dimension,
  sampling: Sampling,
): () => Promise<void> {
  let progress: Progress | undefined;
  let unwritten: readonly SlotSample[] = [];

  return async () => {
    const fresh = await sample();
    unwritten = [...unwritten, ...fresh].slice(-MAX_UNWRITTEN);
    while (unwritten.length > 0) {
      const batch = unwritten.slice(0, BATCH);
      if (!(await writeEmpty(dependencies, batch))) return;
      unwritten = unwritten.slice(BATCH);
      await setImmediate();
    }
  };

  /** Samples the ids that have no sample in this slot. */
  async function sample(): Promise<SlotSample[]> {
    const now = dependencies.clock();
    const slot = slotStart(dimension, now);
    const current = progress?.slot === slot ? progress : enter(slot);
    if (Math.abs(now - current.askedAt) < ASK_EVERY_MS) return [];

    const missing = new Set((await sampling.ids(dependencies.audiences)).filter((id) => !current.sampled.has(id)));
    if (missing.size > 0 && (await dependencies.lease()) === "refused") {
      current.askedAt = now;
      current.isSettled = true;
      return [];
    }
    const samples = missing.size === 0 ? [] : await sampling.sample(dependencies.audiences, missing);
    if (slotStart(dimension, dependencies.clock()) !== slot) return [];
    for (const { id } of samples) current.sampled.add(id);
    current.askedAt = now;
    current.isSettled = true;
    return samples.map(({ id, type, value }) => ({ series: { dimension, id, type }, slot, value }));
  }

  /** Counts earlier slots without a sample when a slot begins; none if the clock was set back. */
  function enter(slot: number): Progress {
    if (progress !== undefined) {
      const passed = (slot - progress.slot) / dimension.slotMs;
      dependencies.missed(dimension, Math.max(0, passed - (progress.isSettled ? 1 : 0)));
    }
    progress = { slot, sampled: new Set(), askedAt: Number.NEGATIVE_INFINITY, isSettled: false };
    return progress;
  }
}

/**
 * Writes the samples whose slots are empty. Returns false if another recorder held the lease, which may have written
 * since they were read. Limitation: a write that takes longer than the lease may replace another recorder's sample of
 * the same slot, but never a value of clients, which is stored in their own source.
 */
async function writeEmpty(
  { series: store, lease, write }: SizeDependencies,
  samples: readonly SlotSample[],
): Promise<boolean> {
  if ((await lease()) === "refused") return false;
  const windows = samples.map(({ series, slot }) => ({ series, from: slot, to: slot + series.dimension.slotMs }));
  const saved = await store.read(windows);
  const unsaved = samples.filter((_, i) => Number.isNaN(saved[i]?.[0] ?? Number.NaN));
  if ((await lease()) !== "renewed") return false;
  await write(unsaved.map(({ series, slot, value }) => ({ series, from: slot, values: Float64Array.of(value) })));
  return true;
}

/** Receives the number of slots that passed without a sample of the dimension while a recorder was running. */
export type CountMissed = (dimension: Dimension, slots: number) => void;

/** Counts the slots that recorders of these dimensions miss, for `/metrics`. */
export function countMissed(dimensions: readonly Dimension[], meters: Pick<Meters, "counter">): CountMissed {
  const missed = meters.counter(
    "recorder_slots_missed_total",
    "Slots that passed without a sample though this process was there to take it, by dimension.",
    "dimension",
  );
  // Exported from the start, so that an alert sees the first miss.
  for (const { name, sampling } of dimensions) if (sampling !== undefined) missed(0, name);
  return ({ name }, slots) => missed(slots, name);
}
