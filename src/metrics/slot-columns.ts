import type { Series, SlotColumn } from "./series.js";

/** Maximum slots without a value between two others of one column; a wider gap ends the column. */
const WIDEST_GAP = 32;

/** Target of the values of a list of times: column and offset. */
export interface SlotLayout {
  readonly columns: readonly { readonly from: number; readonly length: number }[];
  /** For each time, the index of its column and the offset within. */
  readonly column: Uint32Array;
  readonly offset: Uint32Array;
}

/** Returns the columns that cover the slots of these times (Unix ms), in any order. */
export function slotLayout(times: ArrayLike<number>, slotMs: number): SlotLayout {
  return layoutOf(
    Float64Array.from(times, (ms) => Math.floor(ms / slotMs)),
    slotMs,
  );
}

function layoutOf(slots: Float64Array, slotMs: number): SlotLayout {
  const runs = runsOf(slots);
  const column = new Uint32Array(slots.length);
  const offset = new Uint32Array(slots.length);
  let current = 0;
  for (let i = 0; i < slots.length; i += 1) {
    const slot = slots[i] as number;
    const run = runs[current];
    if (run === undefined || slot < run.first || slot > run.last) current = indexOfRun(runs, slot);
    column[i] = current;
    offset[i] = slot - (runs[current] as Run).first;
  }
  return {
    columns: runs.map(({ first, last }) => ({ from: first * slotMs, length: last - first + 1 })),
    column,
    offset,
  };
}

/**
 * Returns the columns of one series, with a value or null for each time of the layout. The later of two values in a
 * slot wins.
 */
export function layOut(layout: SlotLayout, series: Series, values: ArrayLike<number | null>): SlotColumn[] {
  const filled: (SlotColumn | undefined)[] = layout.columns.map(() => undefined);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (value === null || value === undefined) continue;
    const index = layout.column[i] as number;
    let column = filled[index];
    if (column === undefined) {
      const { from, length } = layout.columns[index] as { from: number; length: number };
      column = { series, from, values: new Float64Array(length).fill(Number.NaN) };
      filled[index] = column;
    }
    column.values[layout.offset[i] as number] = value;
  }
  return filled.filter((column) => column !== undefined);
}

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
interface SeriesPoints {
  readonly slots: number[];
  readonly values: number[];
  first: number;
  last: number;
}

/** Collects points of many series and folds them into columns at the end. The later of two in a slot wins. */
export class PointFold {
  readonly #points = new Map<Series, SeriesPoints>();

  add(series: Series, ms: number, value: number): void {
    const slot = Math.floor(ms / series.dimension.slotMs);
    let points = this.#points.get(series);
    if (points === undefined) {
      points = { slots: [], values: [], first: slot, last: slot };
      this.#points.set(series, points);
    }
    points.slots.push(slot);
    points.values.push(value);
    if (slot < points.first) points.first = slot;
    else if (slot > points.last) points.last = slot;
  }

  columns(): SlotColumn[] {
    const columns: SlotColumn[] = [];
    for (const [series, points] of this.#points) {
      const { slotMs } = series.dimension;
      if (points.last - points.first <= WIDEST_GAP) columns.push(oneColumn(series, points));
      else columns.push(...layOut(layoutOf(Float64Array.from(points.slots), slotMs), series, points.values));
    }
    return columns;
  }
}

/** Points without a wide gap between them. */
function oneColumn(series: Series, { slots, values, first, last }: SeriesPoints): SlotColumn {
  const column = new Float64Array(last - first + 1).fill(Number.NaN);
  for (let i = 0; i < slots.length; i += 1) column[(slots[i] as number) - first] = values[i] as number;
  return { series, from: first * series.dimension.slotMs, values: column };
}

interface Run {
  readonly first: number;
  last: number;
}

/** Returns runs of slots without a wide gap, ascending. */
function runsOf(slots: Float64Array): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const slot of slots.toSorted()) {
    if (run !== undefined && slot - run.last <= WIDEST_GAP) {
      run.last = slot;
    } else {
      run = { first: slot, last: slot };
      runs.push(run);
    }
  }
  return runs;
}

/** Returns the run that contains the slot, by binary search. */
function indexOfRun(runs: readonly Run[], slot: number): number {
  let low = 0;
  let high = runs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (slot > (runs[middle] as Run).last) low = middle + 1;
    else high = middle;
  }
  return low;
}
