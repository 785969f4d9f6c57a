import { type Series, type SlotColumn, seriesKey } from "./series.js";
import type { SeriesStore } from "./series-store.js";
import type { SeriesSlot, SlotClaim, SlotClaims, SlotSample } from "./slot-claims.js";
import { layOut, slotLayout } from "./slot-columns.js";
import type { SlotGate } from "./slot-gate.js";

export interface ClaimParts {
  readonly claims: SlotClaims;
  readonly series: Pick<SeriesStore, "read">;
  readonly gate: SlotGate;
  /** Writes columns without giving their slots away. */
  write(columns: readonly SlotColumn[]): Promise<void>;
}

/**
 * Claims slots and writes what is kept for them. Slots that others have written stay as they are; so do those claimed before,
 * unless the value `grows` and is larger.
 */
export async function claimAndWrite(
  parts: ClaimParts,
  samples: readonly SlotSample[],
  options: { readonly grows: boolean },
): Promise<void> {
  await parts.gate.recorder(async () => writeClaims(parts, await parts.claims.claim(samples, options)));
}

/**
 * Writes what is kept for slots, once it is known that nobody else had written them when they were claimed. Somebody may
 * write one from then on: that takes the claim away (see `record-points`), so what is kept is looked at again after the
 * write, and where it is another's value, that is put back.
 */
export async function writeClaims(parts: ClaimParts, claims: readonly SlotClaim[]): Promise<void> {
  const free = await confirmFree(
    parts,
    claims.filter(({ confirmed }) => !confirmed),
  );
  let unwritten: readonly SlotSample[] = [...claims.filter(({ confirmed }) => confirmed), ...free];
  while (unwritten.length > 0) {
    await parts.write(bySeries(unwritten).flatMap(({ series, slots }) => columnsOf(series, slots)));
    unwritten = await parts.claims.settle(unwritten);
  }
}

/** Confirms claims of slots that hold nothing, and withdraws the others; hands out what may be written. */
async function confirmFree({ claims, series }: ClaimParts, taken: readonly SlotClaim[]): Promise<SlotSample[]> {
  if (taken.length === 0) return [];
  const saved = await savedSlots(series, taken);
  const isSaved = (slot: SeriesSlot) => saved.has(slotKey(slot));
  const others = taken.filter(isSaved);
  if (others.length > 0) await claims.withdraw(others);
  const free = taken.filter((slot) => !isSaved(slot));
  return free.length === 0 ? [] : claims.confirm(free);
}

/** Keys of those slots, and of neighbours, in which the series store holds a value. */
async function savedSlots(store: Pick<SeriesStore, "read">, slots: readonly SeriesSlot[]): Promise<Set<string>> {
  const windows = bySeries(slots).flatMap(({ series, slots }) => {
    const { slotMs } = series.dimension;
    const { columns } = slotLayout(timesOf(slots), slotMs);
    return columns.map(({ from, length }) => ({ series, from, to: from + length * slotMs }));
  });
  const saved = new Set<string>();
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

function slotKey({ series, slot }: SeriesSlot): string {
  return `${seriesKey(series)}\0${slot}`;
}
