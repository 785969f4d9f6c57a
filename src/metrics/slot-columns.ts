import { type Series, type SlotColumn, seriesKey } from "./series.js";

/** Maximum slots without a value between two others of one column; a wider gap ends the column. */
const WIDEST_GAP = 32;

/** Returns the column without the slots that start before `since` (Unix ms). */
export function columnSince({ series, from, values }: SlotColumn, since: number): SlotColumn {
  const { slotMs } = series.dimension;
  const skip = Math.min(values.length, Math.max(0, Math.ceil((since - from) / slotMs)));
  return { series, from: from + skip * slotMs, values: values.subarray(skip) };
}

/**
 * Returns the unexpired part of columns at `now` (Unix ms); slots are kept for `retention` ms after their start
 * (undefined: unlimited).
 */
export function keptColumns(
  columns: readonly SlotColumn[],
  now: number,
  retention: number | undefined,
): readonly SlotColumn[] {
  return retention === undefined ? columns : columns.map((column) => columnSince(column, now - retention));
}

/** Points of one series in order of arrival: the slots, counted from 1970, and their values. */
interface SeriesPoints {
  readonly series: Series;
  readonly slots: number[];
  readonly values: number[];
}

/** Collects points of many series and folds them into columns at the end. The later of two in a slot wins. */
export class PointFold {
  /** Points by the key of their series, which may be several objects. */
  readonly #bySeries = new Map<string, SeriesPoints>();

  add(series: Series, ms: number, value: number): void {
    const slot = Math.floor(ms / series.dimension.slotMs);
    const key = seriesKey(series);
    const known = this.#bySeries.get(key);
    // Lists that begin with their first point are small: a write may have one point of each of 50,000 series.
    if (known === undefined) this.#bySeries.set(key, { series, slots: [slot], values: [value] });
    else {
      known.slots.push(slot);
      known.values.push(value);
    }
  }

  /** Adds a value or null for each of these times. */
  addRow(series: Series, times: readonly number[], row: readonly (number | null)[]): void {
    const { slotMs } = series.dimension;
    const key = seriesKey(series);
    const points: SeriesPoints = this.#bySeries.get(key) ?? { series, slots: [], values: [] };
    const { slots, values } = points;
    for (let i = 0; i < row.length; i += 1) {
      const value = row[i] as number | null;
      if (value === null) continue;
      slots.push(Math.floor((times[i] as number) / slotMs));
      values.push(value);
    }
    this.#bySeries.set(key, points);
  }

  columns(): SlotColumn[] {
    const columns: SlotColumn[] = [];
    for (const points of this.#bySeries.values()) {
      const sorted = inOrder(points);
      for (let start = 0; start < sorted.slots.length; ) {
        const end = endOfRun(sorted.slots, start);
        columns.push(columnOf(sorted, start, end));
        start = end;
      }
    }
    return columns;
  }
}

/** Returns the points in order of their slots; points of one slot keep their order. */
function inOrder(points: SeriesPoints): SeriesPoints {
  const { series, slots, values } = points;
  let at = 1;
  while (at < slots.length && (slots[at - 1] as number) <= (slots[at] as number)) at += 1;
  if (at >= slots.length) return points;
  const places = Array.from(slots.keys()).sort((a, b) => (slots[a] as number) - (slots[b] as number));
  return { series, slots: places.map((i) => slots[i] as number), values: places.map((i) => values[i] as number) };
}

/** Returns the index after the last slot of a run, which begins at `start` and has no wide gap. */
function endOfRun(slots: readonly number[], start: number): number {
  let at = start + 1;
  while (at < slots.length && (slots[at] as number) - (slots[at - 1] as number) <= WIDEST_GAP) at += 1;
  return at;
}

/** Returns the column of the points [start, end). */
function columnOf({ series, slots, values }: SeriesPoints, start: number, end: number): SlotColumn {
  const first = slots[start] as number;
  const column = new Float64Array((slots[end - 1] as number) - first + 1).fill(Number.NaN);
  for (let i = start; i < end; i += 1) column[(slots[i] as number) - first] = values[i] as number;
  return { series, from: first * series.dimension.slotMs, values: column };
}
