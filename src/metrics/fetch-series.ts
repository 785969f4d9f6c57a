import type { Changes } from "./changes.js";
import type { ChunkStore } from "./chunks.js";
import { withDeadline } from "./deadline.js";
import { FragmentCache } from "./fragment-cache.js";
import type { Reading } from "./read-memory.js";
import { answerBytes, readParts, slotBytes } from "./read-parts.js";
import { type SaveSchedule, saveSchedule } from "./save-schedule.js";
import { seriesKey } from "./series.js";
import { type SeriesFragment, seriesFragment } from "./series-fragment.js";
import { type SeriesPlan, windowsOf } from "./series-plan.js";
import type { SeriesStore } from "./series-store.js";
import { SeriesWatch } from "./series-watch.js";
import { SlotCache } from "./slot-cache.js";
import { Turns } from "./turns.js";

export interface FetchSeriesParts {
  readonly store: Pick<SeriesStore, "chunkSlots" | "read" | "mayHold">;
  readonly changes: Changes;
  /** Bytes that slots and finished values may take in memory. */
  readonly cache: { readonly columns_bytes: number; readonly answers_bytes: number };
  /** The longest that one read of the store may take, ms. */
  readonly deadlineMs: number;
}

/** The values of one series. */
export interface FetchedSeries extends SaveSchedule {
  readonly plan: SeriesPlan;
  readonly fragment: SeriesFragment;
  /** Whether no store was read for it. */
  readonly isCached: boolean;
  /** Whether nothing was written since that could make the values differ. */
  isCurrent(): boolean;
}

/**
 * The values of each plan as of `now` (Unix ms), in the order asked, by one read of the store unless much is asked. Takes the
 * memory for it from the account of the reading, and stops when that is over. Rejects rather than hand out a part.
 */
export type FetchSeries = (plans: readonly SeriesPlan[], now: number, reading: Reading) => Promise<FetchedSeries[]>;

export function fetchSeries({ store, changes, cache, deadlineMs }: FetchSeriesParts): FetchSeries {
  const watch = new SeriesWatch(changes);
  const patient: ChunkStore = {
    chunkSlots: store.chunkSlots,
    read: (windows) => withDeadline(deadlineMs, () => store.read(windows)),
  };
  const turns = new Turns();
  const slots = new SlotCache(patient, watch, cache.columns_bytes, turns);
  const fragments = new FragmentCache(watch, cache.answers_bytes);

  return async (plans, now, reading) => {
    const found = known(plans);
    const missing = plans.filter((_, i) => found[i] === undefined);
    const made = missing.length === 0 ? [] : await make(missing, now, reading);
    let next = 0;
    return plans.map((plan, i) => {
      const cached = found[i];
      const { fragment, isCached } =
        cached === undefined ? (made[next++] as Made) : { fragment: cached, isCached: true };
      const isCurrent = () => watch.trusted() && fragments.get(plan) === fragment;
      return { plan, fragment, isCached, isCurrent, ...saveSchedule(plan, fragment.saved, now) };
    });
  };

  function known(plans: readonly SeriesPlan[]): (SeriesFragment | undefined)[] {
    const trusted = watch.trusted();
    return plans.map((plan) => (trusted ? fragments.get(plan) : undefined));
  }

  /** Makes the values of plans that are not at hand, one part after another. */
  async function make(plans: readonly SeriesPlan[], now: number, reading: Reading): Promise<Made[]> {
    reading.take(answerBytes(plans, mayHold));
    const made: Made[] = [];
    for (const part of readParts(plans)) {
      if (!part.isSmall) await turns.next();
      reading.refuseIfOver();
      const bytes = slotBytes(part.plans, mayHold);
      reading.take(bytes);
      try {
        made.push(...(await makePart(part.plans, now)));
      } finally {
        reading.give(bytes);
      }
    }
    return made;
  }

  /** Some may have been made for another request by now. A series that is not there is not read. */
  async function makePart(plans: readonly SeriesPlan[], now: number): Promise<Made[]> {
    const found = known(plans);
    const looks = plans.map(({ parts }) => parts.map((part) => watch.open(seriesKey(part))));
    try {
      const there = plans.filter((plan, i) => found[i] === undefined && mayHold(plan));
      const read = await slots.read(there.flatMap(windowsOf));
      const slotsOf = new Map(there.map((plan) => [plan, read.splice(0, plan.parts.length)]));
      return plans.map((plan, i) => {
        const cached = found[i];
        if (cached !== undefined) return { fragment: cached, isCached: true };
        const parts = slotsOf.get(plan);
        const columns = () => parts?.map((part) => part.column()) ?? [];
        const fragment = (watch.trusted() && fragments.get(plan)) || seriesFragment(plan, columns(), now);
        fragments.keep(plan, fragment, looks[i] ?? []);
        return { fragment, isCached: parts !== undefined && !parts.some((part) => part.read) };
      });
    } finally {
      for (const look of looks.flat()) watch.close(look);
    }
  }

  function mayHold({ parts }: SeriesPlan): boolean {
    return parts.some((part) => store.mayHold(part));
  }
}

type Made = Pick<FetchedSeries, "fragment" | "isCached">;
