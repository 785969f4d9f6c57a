/** A chunk is this many slots of one series, aligned to multiples of it: a week of hourly slots. */
export const CHUNK_SLOTS = 168;

/** Slots of a chunk as a row keeps them: from the slot `first` of the chunk on. */
export interface SlotRow {
  readonly first: number;
  readonly slots: Uint8Array;
}

/** A copy of the row's doubles (a blob need not be aligned to 8 bytes). */
export function slotsOf({ slots }: SlotRow): Float64Array {
  const copy = new Uint8Array(slots.byteLength);
  copy.set(slots);
  return new Float64Array(copy.buffer);
}

/**
 * What a row holds when `values`, which begin at the slot `at` of the chunk, are laid over it; NaN leaves a slot as it is.
 * Undefined when the values say nothing. The kept row is asked for only when it can matter.
 */
export function layOver(kept: () => SlotRow | undefined, values: Float64Array, at: number): SlotRow | undefined {
  let start = 0;
  let end = values.length;
  while (start < end && Number.isNaN(values[start])) start += 1;
  while (start < end && Number.isNaN(values[end - 1])) end -= 1;
  if (start === end) return undefined;
  const isWhole = end - start === CHUNK_SLOTS && !values.some(Number.isNaN);
  const row = isWhole ? undefined : kept();
  const first = Math.min(at + start, row?.first ?? CHUNK_SLOTS);
  const last = Math.max(at + end, row === undefined ? 0 : row.first + row.slots.byteLength / 8);
  const slots = new Float64Array(last - first).fill(Number.NaN);
  if (row !== undefined) slots.set(slotsOf(row), row.first - first);
  for (let i = start; i < end; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) slots[at + i - first] = value;
  }
  return { first, slots: new Uint8Array(slots.buffer) };
}
