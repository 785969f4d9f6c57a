import type { Changes } from "./changes.js";
import type { ChunkStore } from "./chunks.js";
import { withDeadline } from "./deadline.js";
import { FragmentCache } from "./fragment-cache.js";
import { type SaveSchedule, saveSchedule } from "./save-schedule.js";
import { seriesKey } from "./series.js";
import { type SeriesFragment, seriesFragment } from "./series-fragment.js";
import { costOf, type SeriesPlan, windowsOf } from "./series-plan.js";
import { SeriesWatch } from "./series-watch.js";
import { type CachedSlots, SlotCache } from "./slot-cache.js";
import { Turns } from "./turns.js";

export interface FetchSeriesParts {
  readonly store: ChunkStore;
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

/** The values of each plan as of `now` (Unix ms), in the order asked, by at most one read of the store. Rejects rather than hand out a part. */
export type FetchSeries = (plans: readonly SeriesPlan[], now: number) => Promise<FetchedSeries[]>;

export function fetchSeries({ store, changes, cache, deadlineMs }: FetchSeriesParts): FetchSeries {
  const watch = new SeriesWatch(changes);
  const patient: ChunkStore = {
    chunkSlots: store.chunkSlots,
    read: (windows) => withDeadline(deadlineMs, () => store.read(windows)),
  };
  const slots = new SlotCache(patient, watch, cache.columns_bytes);
  const fragments = new FragmentCache(watch, cache.answers_bytes);

  return async (plans, now) => {
    const trusted = watch.trusted();
    const found = plans.map((plan) => (trusted ? fragments.get(plan) : undefined));
    const missing = plans.filter((_, i) => found[i] === undefined);
    const made = missing.length === 0 ? [] : await make(missing, now);
    let next = 0;
    return plans.map((plan, i) => {
      const cached = found[i];
      const { fragment, isCached } =
        cached === undefined ? (made[next++] as Made) : { fragment: cached, isCached: true };
      const isCurrent = () => watch.trusted() && fragments.get(plan) === fragment;
      return { plan, fragment, isCached, isCurrent, ...saveSchedule(plan, fragment.saved, now) };
    });
  };

  /** Makes the values of plans whose values nobody has at hand. */
  async function make(plans: readonly SeriesPlan[], now: number): Promise<Made[]> {
    const looks = plans.map(({ parts }) => parts.map((part) => watch.open(seriesKey(part))));
    try {
      const read = await slots.read(plans.flatMap(windowsOf));
      const turns = new Turns(TURN);
      const made: Made[] = [];
      let next = 0;
      for (const [i, plan] of plans.entries()) {
        const parts: CachedSlots[] = read.slice(next, next + plan.parts.length);
        next += plan.parts.length;
        // Whoever waited for the same read may have made the same values by now.
        const columns = () => parts.map((part) => part.column());
        const fragment = (watch.trusted() && fragments.get(plan)) || seriesFragment(plan, columns(), now);
        fragments.keep(plan, fragment, looks[i] ?? []);
        made.push({ fragment, isCached: !parts.some((part) => part.read) });
        const cost = costOf(plan);
        const others = turns.after(cost.slots + 10 * cost.values + PLAN_COST);
        if (others !== undefined) await others;
      }
      return made;
    } finally {
      for (const look of looks.flat()) watch.close(look);
    }
  }
}

/** Work done before others get their turn, in slots; what a plan counts for besides its slots and values. */
const TURN = 500_000;
const PLAN_COST = 1_000;

type Made = Pick<FetchedSeries, "fragment" | "isCached">;
