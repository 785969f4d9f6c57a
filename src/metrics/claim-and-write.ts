import { type Series, type SlotColumn, seriesKey } from "./series.js";
import type { SeriesStore } from "./series-store.js";
import type { SeriesSlot, SlotClaims, SlotSample } from "./slot-claims.js";
import { layOut, slotLayout } from "./slot-columns.js";
import type { SlotGate } from "./slot-gate.js";

export interface ClaimParts {
  readonly claims: SlotClaims;
  readonly series: Pick<SeriesStore, "read">;
  readonly gate: SlotGate;
  /** Writes columns without giving their slots away. */
  write(columns: readonly SlotColumn[]): Promise<void>;
}

/** Claims slots that hold nothing yet and writes what is kept for them. Slots claimed or written before stay as they are. */
export async function claimFree(parts: ClaimParts, samples: readonly SlotSample[]): Promise<void> {
  await parts.gate.recorder(async () => {
    const claimed = keysOf(await parts.claims.claimed(samples));
    const free = samples.filter((sample) => !claimed.has(slotKey(sample)));
    const saved = await savedSlots(parts.series, free);
    await writeClaims(parts, await parts.claims.claim(free.filter((sample) => !saved.has(slotKey(sample)))));
  });
}

/** Claims slots for values that only grow, and writes the largest. Slots that others have written stay as they are. */
export async function claimGrowing(parts: ClaimParts, samples: readonly SlotSample[]): Promise<void> {
  await parts.gate.recorder(async () => {
    const claimed = keysOf(await parts.claims.claimed(samples));
    const saved = await savedSlots(
      parts.series,
      samples.filter((sample) => !claimed.has(slotKey(sample))),
    );
    const free = samples.filter((sample) => claimed.has(slotKey(sample)) || !saved.has(slotKey(sample)));
    await writeClaims(parts, await parts.claims.claim(free, { grows: true }));
  });
}

/** Writes claimed values, and notes that they are written. */
export async function writeClaims(parts: ClaimParts, samples: readonly SlotSample[]): Promise<void> {
  if (samples.length === 0) return;
  await parts.write(bySeries(samples).flatMap(({ series, slots }) => columnsOf(series, slots)));
  await parts.claims.settle(samples);
}

/** Keys of those slots, and of neighbours, in which the series store holds a value. */
async function savedSlots(store: Pick<SeriesStore, "read">, slots: readonly SeriesSlot[]): Promise<Set<string>> {
  const windows = bySeries(slots).flatMap(({ series, slots }) => {
    const { slotMs } = series.dimension;
    const { columns } = slotLayout(timesOf(slots), slotMs);
    return columns.map(({ from, length }) => ({ series, from, to: from + length * slotMs }));
  });
  const saved = new Set<string>();
  if (windows.length === 0) return saved;
  for (const [index, values] of (await store.read(windows)).entries()) {
    const window = windows[index];
    if (window === undefined) continue;
    const { series, from } = window;
    for (const [at, value] of values.entries()) {
      if (!Number.isNaN(value)) saved.add(slotKey({ series, slot: from + at * series.dimension.slotMs }));
    }
  }
  return saved;
}

function columnsOf(series: Series, samples: readonly SlotSample[]): SlotColumn[] {
  const layout = slotLayout(timesOf(samples), series.dimension.slotMs);
  return layOut(
    layout,
    series,
    samples.map(({ value }) => value),
  );
}

function bySeries<T extends SeriesSlot>(slots: readonly T[]): { series: Series; slots: T[] }[] {
  const groups = new Map<string, { series: Series; slots: T[] }>();
  for (const slot of slots) {
    const key = seriesKey(slot.series);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { series: slot.series, slots: [slot] });
    else group.slots.push(slot);
  }
  return [...groups.values()];
}

function timesOf(slots: readonly SeriesSlot[]): number[] {
  return slots.map(({ slot }) => slot);
}

function keysOf(slots: readonly SeriesSlot[]): Set<string> {
  return new Set(slots.map(slotKey));
}

function slotKey({ series, slot }: SeriesSlot): string {
  return `${seriesKey(series)}\0${slot}`;
}
