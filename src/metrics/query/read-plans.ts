import type { YieldBudget } from "../../async/yielding.js";
import type { Reservation } from "../../memory-budget.js";
import type { CachedSlots, SlotCache } from "../cache/chunks.js";
import { joinTokens, type ReadToken } from "../cache/epochs.js";
import type { SeriesStore } from "../ports.js";
import { bucketValues } from "./aggregate.js";
import { type Freshness, freshness } from "./freshness.js";
import { pointsJson } from "./json.js";
import { type SeriesPlan, windowsOf } from "./plan.js";
import { answerBytes, readParts, slotBytes } from "./read-memory.js";

export interface ReadPlansDependencies {
  readonly store: Pick<SeriesStore, "mayHold">;
  readonly slots: SlotCache;
  /** The parts of long reads take turns in it. */
  readonly budget: YieldBudget;
}

/** The values of one series. */
export interface FetchedSeries extends Freshness {
  readonly plan: SeriesPlan;
  /** The JSON array of its points, `[{"value":…,"ts":"…"},…]`. */
  readonly json: Buffer;
  /** Whether no store was read for it. */
  readonly isCached: boolean;
  /** Current while no write can have changed the values. */
  readonly token: ReadToken;
}

/**
 * Reads the values of each plan as of `now` (Unix ms), in order, by one read of the store unless the plans are large; slots are
 * kept for `keep` ms. Takes the memory for it from the reservation, and stops when that has ended. Rejects rather than return
 * a part.
 */
export type ReadPlans = (
  plans: readonly SeriesPlan[],
  now: number,
  keep: number | undefined,
  reading: Reservation,
) => Promise<FetchedSeries[]>;

/** How long values are made before the network is served, ms. */
const PAUSE_MS = 5;

export function readPlans({ store, slots, budget }: ReadPlansDependencies): ReadPlans {
  return async (plans, now, keep, reading) => {
    reading.reserve(answerBytes(plans, mayHold));
    const fetched: FetchedSeries[] = [];
    for (const part of readParts(plans)) {
      if (!part.isSmall) await budget.next();
      reading.refuseIfOver();
      const bytes = slotBytes(part.plans, mayHold);
      reading.reserve(bytes);
      try {
        const read = (await slots.read(part.plans.flatMap(windowsOf))).values();
        const pause = budget.pauses(PAUSE_MS);
        for (const plan of part.plans) {
          const parts = plan.parts.map(() => read.next().value as CachedSlots);
          fetched.push(fetchedOf(plan, parts, now, keep));
          await pause();
        }
      } finally {
        reading.release(bytes);
      }
      reading.progressed();
    }
    return fetched;
  };

  function mayHold({ parts }: SeriesPlan): boolean {
    return parts.some((part) => store.mayHold(part));
  }
}

function fetchedOf(
  plan: SeriesPlan,
  parts: readonly CachedSlots[],
  now: number,
  keep: number | undefined,
): FetchedSeries {
  const columns = parts.map((part) => part.column());
  return {
    plan,
    json: pointsJson(bucketValues(plan, columns), plan.buckets, plan.lead),
    isCached: !parts.some(({ read }) => read),
    token: joinTokens(parts.map(({ token }) => token)),
    ...freshness(plan, columns, now, keep),
  };
}
