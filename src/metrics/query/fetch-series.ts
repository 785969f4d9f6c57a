import { withTimeLimit } from "../../async/time-limit.js";
import type { YieldBudget } from "../../async/yielding.js";
import { ServiceError } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import type { Meters } from "../../meters.js";
import { type CachedSlots, SlotCache } from "../cache/chunks.js";
import { type Epochs, joinTokens, type Kept, type ReadToken, TokenCache } from "../cache/epochs.js";
import type { SeriesStore, SeriesWindow } from "../ports.js";
import { answerBytes, readParts, slotBytes } from "./read-memory.js";
import { type SaveSchedule, type SeriesPlan, saveSchedule, windowsOf } from "./series-plan.js";
import { type SerialisedSeries, serialise } from "./series-values.js";

export interface SlotCacheParts {
  readonly store: Pick<SeriesStore, "chunkSlots" | "read" | "mayHold">;
  readonly epochs: Epochs;
  /** Bytes that slots may take in memory. */
  readonly cache: { readonly columns_bytes: number };
  readonly budget: YieldBudget;
  /** The longest that one read of the store may take, ms: several requests may share it. */
  readonly deadlineMs: number;
}

/** Slots of a store in memory, each read of it within the deadline. */
export function openSlotCache({ store, epochs, cache, budget, deadlineMs }: SlotCacheParts): SlotCache {
  const read = (windows: readonly SeriesWindow[]) => withDeadline(deadlineMs, () => store.read(windows));
  return new SlotCache({ ...store, read }, epochs, cache.columns_bytes, budget);
}

export interface FetchSeriesParts {
  readonly store: Pick<SeriesStore, "mayHold">;
  readonly slots: SlotCache;
  readonly epochs: Epochs;
  /** Bytes that finished values may take in memory. */
  readonly cache: { readonly answers_bytes: number };
  /** The parts of long reads take turns in it. */
  readonly budget: YieldBudget;
}

/** The values of one series. */
export interface FetchedSeries extends SaveSchedule {
  readonly plan: SeriesPlan;
  readonly serialised: SerialisedSeries;
  /** Whether no store was read for it. */
  readonly isCached: boolean;
  /** Nothing was written since that could make the values differ for as long as `Epochs` says that it is current. */
  readonly token: ReadToken;
}

/**
 * The values of each plan as of `now` (Unix ms), in the order asked, by one read of the store unless much is asked. Takes the
 * memory for it from the reservation, and stops when that has ended. Rejects rather than hand out a part.
 */
export type FetchSeries = (plans: readonly SeriesPlan[], now: number, reading: Reservation) => Promise<FetchedSeries[]>;

/** How long values are made before the network is served, ms. */
const PAUSE_MS = 5;

/** What an entry takes besides its JSON and its key, roughly, bytes. */
const ENTRY_BYTES = 1_000;

export function fetchSeries({ store, slots, epochs, cache, budget }: FetchSeriesParts): FetchSeries {
  const kept = new TokenCache<SerialisedSeries>(
    epochs,
    cache.answers_bytes,
    ({ json, values }, key) => json.byteLength + (values?.byteLength ?? 0) + 4 * key.length + ENTRY_BYTES,
  );

  return async (plans, now, reading) => {
    const found = plans.map((plan) => keptOf(plan, now));
    const missing = plans.filter((_, i) => found[i] === undefined);
    const made = missing.length === 0 ? [] : await make(missing, now, reading);
    let next = 0;
    return plans.map((plan, i) => {
      const cached = found[i];
      const { value, token, isCached } = cached === undefined ? (made[next++] as Made) : { ...cached, isCached: true };
      return { plan, serialised: value, token, isCached, ...saveSchedule(plan, value.saved, now) };
    });
  };

  /** Makes the values of plans that are not in memory, one part after another. */
  async function make(plans: readonly SeriesPlan[], now: number, reading: Reservation): Promise<Made[]> {
    reading.reserve(answerBytes(plans, mayHold));
    const made: Made[] = [];
    for (const part of readParts(plans)) {
      if (!part.isSmall) await budget.next();
      reading.refuseIfOver();
      const bytes = slotBytes(part.plans, mayHold);
      reading.reserve(bytes);
      try {
        made.push(...(await makePart(part.plans, now)));
      } finally {
        reading.release(bytes);
      }
      reading.progressed();
    }
    return made;
  }

  /** Some may have been made for another request by now. */
  async function makePart(plans: readonly SeriesPlan[], now: number): Promise<Made[]> {
    const found = plans.map((plan) => keptOf(plan, now));
    const missing = plans.filter((_, i) => found[i] === undefined);
    const read = await slots.read(missing.flatMap(windowsOf));
    const pause = budget.pauses(PAUSE_MS);
    const all: Made[] = [];
    for (const [i, plan] of plans.entries()) {
      const cached = found[i];
      if (cached === undefined) all.push(makeOne(plan, read.splice(0, plan.parts.length), now));
      else all.push({ ...cached, isCached: true });
      await pause();
    }
    return all;
  }

  function makeOne(plan: SeriesPlan, parts: readonly CachedSlots[], now: number): Made {
    const isCached = !parts.some((part) => part.read);
    const madeMeanwhile = keptOf(plan, now);
    if (madeMeanwhile !== undefined) return { ...madeMeanwhile, isCached };
    const columns = parts.map((part) => part.column());
    const value = serialise(plan, columns, now, kept.last(plan.key));
    const made = { value, token: joinTokens(parts.map(({ token }) => token)) };
    kept.keep(plan.key, made);
    return { ...made, isCached };
  }

  /** The valid entry of a plan. None that a clock which has since been set back made in a later slot. */
  function keptOf({ key }: SeriesPlan, now: number): Kept<SerialisedSeries> | undefined {
    const found = kept.get(key);
    return found !== undefined && found.value.since <= now ? found : undefined;
  }

  function mayHold({ parts }: SeriesPlan): boolean {
    return parts.some((part) => store.mayHold(part));
  }
}

type Made = Kept<SerialisedSeries> & Pick<FetchedSeries, "isCached">;

/** Counts series for `/metrics`: all that were asked for, and how many of them without a read of the store. */
export type CountSeries = (asked: number, cached: number) => void;

export function seriesCounters(meters: Pick<Meters, "counter">): CountSeries {
  const fetched = meters.counter("series_fetched_total", "Series that were asked for.");
  const cached = meters.counter("series_cached_total", "Series among them for which no store was read.");
  return (asked, fromMemory) => {
    fetched(asked);
    cached(fromMemory);
  };
}

/** Resolves as `work` does within `ms`. Rejects with a `ServiceError`: its own, or `unavailable` for any other and for none in time. */
async function withDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  try {
    return await withTimeLimit(ms, [], work);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("unavailable", "A store is away; try again", { cause: error });
  }
}
