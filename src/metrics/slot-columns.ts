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

/** Collects points of many series and folds them into columns at the end. The later of two in a slot wins. */
export class PointFold {
  /** Series in the order of their first points, with the number of points of each. */
  readonly #series: Series[] = [];
  readonly #counts: number[] = [];
  /** Indexes by the key of the series, which may be several objects. */
  readonly #indexes = new Map<string, number>();
  /** Index of the series of each point, its slot counted from 1970, and its value, in order of arrival. */
  readonly #of: number[] = [];
  readonly #slots: number[] = [];
  readonly #values: number[] = [];

  add(series: Series, ms: number, value: number): void {
    this.#push(this.#indexOf(series), Math.floor(ms / series.dimension.slotMs), value);
  }

  /** Adds a value or null for each of these times. */
  addRow(series: Series, times: readonly number[], row: readonly (number | null)[]): void {
    const { slotMs } = series.dimension;
    const index = this.#indexOf(series);
    for (let i = 0; i < row.length; i += 1) {
      const value = row[i] as number | null;
      if (value !== null) this.#push(index, Math.floor((times[i] as number) / slotMs), value);
    }
  }

  #push(index: number, slot: number, value: number): void {
    this.#of.push(index);
    this.#slots.push(slot);
    this.#values.push(value);
    this.#counts[index] = (this.#counts[index] as number) + 1;
  }

  #indexOf(series: Series): number {
    const key = seriesKey(series);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.#series.length;
    this.#series.push(series);
    this.#counts.push(0);
    this.#indexes.set(key, index);
    return index;
  }

  columns(): SlotColumn[] {
    const { slots, values } = this.#bySeries();
    const columns: SlotColumn[] = [];
    let start = 0;
    for (const [index, series] of this.#series.entries()) {
      const end = start + (this.#counts[index] as number);
      sortBySlot(slots, values, start, end);
      while (start < end) {
        const endOfColumn = endOfRun(slots, start, end);
        columns.push(columnOf(series, slots, values, start, endOfColumn));
        start = endOfColumn;
      }
    }
    return columns;
  }

  /** Returns slots and values, series by series; the points of a series stay in order of arrival. */
  #bySeries(): { readonly slots: Float64Array; readonly values: Float64Array } {
    const slots = new Float64Array(this.#slots.length);
    const values = new Float64Array(this.#slots.length);
    const next: number[] = [];
    let start = 0;
    for (const count of this.#counts) {
      next.push(start);
      start += count;
    }
    for (let i = 0; i < this.#of.length; i += 1) {
      const index = this.#of[i] as number;
      const at = next[index] as number;
      next[index] = at + 1;
      slots[at] = this.#slots[i] as number;
      values[at] = this.#values[i] as number;
    }
    return { slots, values };
  }
}

/** Sorts the points [start, end) by slot; points of one slot keep their order. */
function sortBySlot(slots: Float64Array, values: Float64Array, start: number, end: number): void {
  let at = start + 1;
  while (at < end && (slots[at - 1] as number) <= (slots[at] as number)) at += 1;
  if (at >= end) return;
  const points = Array.from(slots.subarray(start, end), (slot, i) => ({ slot, value: values[start + i] as number }));
  points.sort((a, b) => a.slot - b.slot);
  for (const [i, { slot, value }] of points.entries()) {
    slots[start + i] = slot;
    values[start + i] = value;
  }
}

/** Returns the index after the last slot before `end` of a run, which begins at `start` and has no wide gap. */
function endOfRun(slots: Float64Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && (slots[at] as number) - (slots[at - 1] as number) <= WIDEST_GAP) at += 1;
  return at;
}

/** Returns the column of the points [start, end). */
function columnOf(series: Series, slots: Float64Array, values: Float64Array, start: number, end: number): SlotColumn {
  const first = slots[start] as number;
  const column = new Float64Array((slots[end - 1] as number) - first + 1).fill(Number.NaN);
  for (let i = start; i < end; i += 1) column[(slots[i] as number) - first] = values[i] as number;
  return { series, from: first * series.dimension.slotMs, values: column };
}
