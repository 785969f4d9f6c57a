import { ServiceError } from "../errors.js";
import { type Failpoint, noFailpoint } from "../failpoint.js";
import type { Changes } from "./changes.js";
import { type SlotColumn, seriesKey } from "./series.js";
import type { SeriesStore, SeriesWindow } from "./series-store.js";
import type { SeriesSlot, SlotClaims } from "./slot-claims.js";

export interface RecordPointsParts {
  readonly store: Pick<SeriesStore, "write">;
  readonly changes: Pick<Changes, "announce">;
  readonly claims: Pick<SlotClaims, "giveAway">;
  /** Whether a recorder may be at work that no gate of this process keeps apart (see `slot-gate`). */
  readonly shared: boolean;
  readonly failpoint?: Failpoint;
}

/**
 * Keeps slots: once it resolves all of them survive a crash and every read sees them. Unless the recorder itself
 * writes (`giveAway: false`), the slots belong to whoever wrote them from before the write on. Safe to repeat.
 */
export type RecordPoints = (columns: readonly SlotColumn[], options?: { readonly giveAway?: boolean }) => Promise<void>;

export function recordPoints(parts: RecordPointsParts): RecordPoints {
  const { store, changes, claims, shared, failpoint = noFailpoint } = parts;

  /** A recorder that saw the slots empty may have claimed them since, and written over this: then it is done once more. */
  const writeAgain = async (columns: readonly SlotColumn[]) => {
    const claimed = await claims.giveAway(columns);
    if (claimed.length > 0) await store.write(columnsWithin(columns, claimed));
  };

  return async (columns, { giveAway = true } = {}) => {
    const windows = columns.flatMap(windowsOf);
    if (windows.length === 0) return;
    try {
      if (giveAway) await claims.giveAway(columns);
      await changes.announce("begin", windows);
      try {
        await store.write(columns);
        if (giveAway && shared) await writeAgain(columns);
        failpoint("W1");
      } finally {
        await changes.announce("end", windows);
      }
    } catch (error) {
      throw error instanceof ServiceError ? error : unavailable(error);
    }
  };
}

/** The stretches of a column that say something. */
function windowsOf({ series, from, values }: SlotColumn): SeriesWindow[] {
  const { slotMs } = series.dimension;
  const windows: SeriesWindow[] = [];
  for (let slot = 0; slot < values.length; slot += 1) {
    if (Number.isNaN(values[slot])) continue;
    const first = slot;
    while (slot < values.length && !Number.isNaN(values[slot])) slot += 1;
    windows.push({ series, from: from + first * slotMs, to: from + slot * slotMs });
  }
  return windows;
}

/** What the columns say of these slots alone. */
function columnsWithin(columns: readonly SlotColumn[], slots: readonly SeriesSlot[]): SlotColumn[] {
  const wanted = new Map<string, Set<number>>();
  for (const { series, slot } of slots) {
    const key = seriesKey(series);
    wanted.set(key, (wanted.get(key) ?? new Set()).add(slot));
  }
  return columns.flatMap(({ series, from, values }) => {
    const own = wanted.get(seriesKey(series));
    if (own === undefined) return [];
    const { slotMs } = series.dimension;
    const within = values.map((value, at) => (own.has(from + at * slotMs) ? value : Number.NaN));
    return within.every(Number.isNaN) ? [] : [{ series, from, values: within }];
  });
}

function unavailable(cause: unknown): ServiceError {
  return new ServiceError("unavailable", "The points could not be stored; send them again", { cause });
}
