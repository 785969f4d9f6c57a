import type { Series, SlotColumn } from "./series.js";

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

/** Points of one series: slots counted from 1970, in order of arrival. */
class SeriesPoints {
  readonly slots: number[] = [];
  readonly values: number[] = [];
  /** Whether the slots arrived in order. */
  isAscending = true;
  #last = Number.NEGATIVE_INFINITY;

  add(slot: number, value: number): void {
    if (slot < this.#last) this.isAscending = false;
    this.#last = slot;
    this.slots.push(slot);
    this.values.push(value);
  }
}

/** Collects points of many series and folds them into columns at the end. The later of two in a slot wins. */
export class PointFold {
  readonly #points = new Map<Series, SeriesPoints>();

  add(series: Series, ms: number, value: number): void {
    this.#of(series).add(Math.floor(ms / series.dimension.slotMs), value);
  }

  /** Adds a value or null for each of these times. */
  addRow(series: Series, times: readonly number[], row: readonly (number | null)[]): void {
    const { slotMs } = series.dimension;
    const points = this.#of(series);
    for (let i = 0; i < row.length; i += 1) {
      const value = row[i] as number | null;
      if (value !== null) points.add(Math.floor((times[i] as number) / slotMs), value);
    }
  }

  #of(series: Series): SeriesPoints {
    const known = this.#points.get(series);
    if (known !== undefined) return known;
    const points = new SeriesPoints();
    this.#points.set(series, points);
    return points;
  }

  columns(): SlotColumn[] {
    const columns: SlotColumn[] = [];
    for (const [series, points] of this.#points) {
      const { slots, values } = points.isAscending ? points : inOrder(points);
      for (let at = 0; at < slots.length; ) {
        const end = endOfRun(slots, at);
        columns.push(columnOf(series, slots, values, at, end));
        at = end;
      }
    }
    return columns;
  }
}

/** Sorts points by slot; points of one slot stay in order of arrival. */
function inOrder({ slots, values }: Pick<SeriesPoints, "slots" | "values">): Pick<SeriesPoints, "slots" | "values"> {
  const order = Array.from(slots.keys()).sort((a, b) => (slots[a] as number) - (slots[b] as number));
  return { slots: order.map((i) => slots[i] as number), values: order.map((i) => values[i] as number) };
}

/** Returns the index after the last slot of a run, which begins at `start` and has no wide gap. */
function endOfRun(slots: readonly number[], start: number): number {
  let end = start + 1;
  while (end < slots.length && (slots[end] as number) - (slots[end - 1] as number) <= WIDEST_GAP) end += 1;
  return end;
}

/** Returns the column of the points from `start` to before `end`. */
function columnOf(
  series: Series,
  slots: readonly number[],
  values: readonly number[],
  start: number,
  end: number,
): SlotColumn {
  const first = slots[start] as number;
  const column = new Float64Array((slots[end - 1] as number) - first + 1).fill(Number.NaN);
  for (let i = start; i < end; i += 1) column[(slots[i] as number) - first] = values[i] as number;
  return { series, from: first * series.dimension.slotMs, values: column };
}
