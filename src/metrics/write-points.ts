import { type Failpoint, noFailpoint } from "../failpoint.js";
import type { Generations } from "./cache/generations.js";
import type { SeriesStore, SeriesWindow, ValueSource } from "./ports.js";
import type { SlotColumn } from "./series.js";

export interface WritePointsDependencies {
  readonly store: Pick<SeriesStore, "write">;
  readonly generations: Pick<Generations, "written">;
  readonly failpoint?: Failpoint;
}

/**
 * Stores slots. Once it resolves, all of them survive a crash and every read returns them. Safe to repeat. Rejects as
 * the store does.
 */
export type WritePoints = (source: ValueSource, columns: readonly SlotColumn[]) => Promise<void>;

export function writePoints({ store, generations, failpoint = noFailpoint }: WritePointsDependencies): WritePoints {
  return async (source, columns) => {
    const windows = writtenWindows(columns);
    if (windows.length === 0) return;
    try {
      await store.write(source, columns);
    } catch (error) {
      // A part may be stored. The caller repeats the write, so this announcement may fail.
      await generations.written(windows).catch(() => {});
      throw error;
    }
    failpoint("points-written");
    await generations.written(windows);
  };
}

export interface ExpirePointsDependencies {
  readonly store: Pick<SeriesStore, "expire">;
  readonly generations: Pick<Generations, "endAll">;
}

/**
 * Removes slots that start before an instant (Unix ms) from the store. Invalidates all cached entries: any of them may
 * contain such slots, and a clock that is set back would make responses include them. This happens once an hour.
 */
export function expirePoints({ store, generations }: ExpirePointsDependencies): SeriesStore["expire"] {
  return async (before) => {
    try {
      await store.expire(before);
    } finally {
      generations.endAll();
    }
  };
}

/** Returns the windows of the columns that have slots. */
function writtenWindows(columns: readonly SlotColumn[]): SeriesWindow[] {
  const windows: SeriesWindow[] = [];
  for (const { series, from, values } of columns)
    if (values.length > 0) windows.push({ series, from, to: from + values.length * series.dimension.slotMs });
  return windows;
}
