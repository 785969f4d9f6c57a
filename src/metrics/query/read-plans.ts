import type { YieldBudget } from "../../async/yielding.js";
import type { Reservation } from "../../memory-budget.js";
import type { CachedSlots, SlotCache } from "../cache/chunks.js";
import { type Epochs, joinTokens, type Kept, type ReadToken, TokenCache } from "../cache/epochs.js";
import type { SeriesStore } from "../ports.js";
import { bucketValues } from "./aggregate.js";
import { type Freshness, freshness, isSaved, newestDue } from "./freshness.js";
import { pointsJson } from "./json.js";
import { type SeriesPlan, windowsOf } from "./plan.js";
import { answerBytes, readParts, slotBytes } from "./read-memory.js";

export interface ReadPlansDependencies {
  readonly store: Pick<SeriesStore, "mayHold">;
  readonly slots: SlotCache;
  readonly epochs: Epochs;
  /** Maximum memory of the cached JSON. */
  readonly bytes: number;
  /** Shares the event loop between the parts of long reads. */
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
 * Reads the values of each plan as of `now` (Unix ms), in order, by one read of the store unless the plans are large;
 * slots are kept for `keep` ms. Reserves memory, and stops when the reservation has ended. Rejects rather than return a
 * partial result.
 */
export type ReadPlans = (
  plans: readonly SeriesPlan[],
  now: number,
  keep: number | undefined,
  reading: Reservation,
) => Promise<FetchedSeries[]>;

/** Maximum time of computing values without a pause, ms. */
const PAUSE_MS = 5;

/** The values of a plan. */
interface Values {
  readonly json: Buffer;
  /** Whether the newest due slot is saved. */
  readonly isSaved: boolean;
}

/** Approximate memory of a cache entry besides its JSON and its key, bytes. */
const ENTRY_BYTES = 1_000;

export function readPlans({ store, slots, epochs, bytes, budget }: ReadPlansDependencies): ReadPlans {
  // A write changes few series of a dashboard; the JSON of the others is reused.
  const cache = new TokenCache<Values>(
    epochs,
    bytes,
    ({ json }, key) => json.byteLength + 2 * key.length + ENTRY_BYTES,
  );

  return async (plans, now, keep, reading) => {
    const keys = plans.map((plan) => keyOf(plan, now));
    const cached = keys.map((key) => cache.get(key));
    const missing = plans.filter((_, i) => cached[i] === undefined);
    const made = missing.length === 0 ? [].values() : (await read(missing, now, reading)).values();
    return plans.map((plan, i) => {
      const hit = cached[i];
      const { value, token, isCached } = hit === undefined ? (made.next().value as Made) : { ...hit, isCached: true };
      if (hit === undefined) cache.keep(keys[i] as string, { value, token });
      return { plan, json: value.json, token, isCached, ...freshness(plan, value.isSaved, now, keep) };
    });
  };

  /** One part after another. */
  async function read(plans: readonly SeriesPlan[], now: number, reading: Reservation): Promise<Made[]> {
    reading.reserve(answerBytes(plans, mayHold));
    const made: Made[] = [];
    for (const part of readParts(plans)) {
      if (!part.isSmall) await budget.next();
      reading.refuseIfOver();
      const bytes = slotBytes(part.plans, mayHold);
      reading.reserve(bytes);
      try {
        const read = (await slots.read(part.plans.flatMap(windowsOf))).values();
        const pause = budget.pauses(PAUSE_MS);
        for (const plan of part.plans) {
          made.push(
            makeValues(
              plan,
              plan.parts.map(() => read.next().value as CachedSlots),
              now,
            ),
          );
          await pause();
        }
      } finally {
        reading.release(bytes);
      }
      reading.progressed();
    }
    return made;
  }

  function mayHold({ parts }: SeriesPlan): boolean {
    return parts.some((part) => store.mayHold(part));
  }
}

/** Returns the values that were computed for this call. */
interface Made extends Kept<Values> {
  readonly isCached: boolean;
}

function makeValues(plan: SeriesPlan, parts: readonly CachedSlots[], now: number): Made {
  const columns = parts.map((part) => part.column());
  const json = pointsJson(bucketValues(plan, columns), plan.buckets, plan.lead);
  return {
    value: { json, isSaved: isSaved(plan, columns, now) },
    token: joinTokens(parts.map(({ token }) => token)),
    isCached: !parts.some(({ read }) => read),
  };
}

/** Two plans of one key have the same values and the same due slot. */
function keyOf({ request, buckets, lead, filled, readFrom, from, to }: SeriesPlan, now: number): string {
  const { dimension, id, type, aggregation, grid } = request;
  const due = newestDue(dimension, now);
  return `${dimension.name}\0${id}\0${type}\0${aggregation} ${grid.step} ${buckets.start} ${lead} ${filled} ${readFrom} ${from} ${to} ${due}`;
}
