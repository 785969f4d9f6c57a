import { yieldToStarted, yieldWhenDue } from "../../async/yielding.js";
import type { CacheMemory } from "../../cache-memory.js";
import type { Reservation } from "../../memory-budget.js";
import { type Generations, joinVersions, type VersionVector } from "../cache/generations.js";
import type { CachedSlots, SlotCache } from "../cache/slot-cache.js";
import { type Versioned, VersionedCache } from "../cache/versioned-cache.js";
import type { SeriesStore } from "../ports.js";
import { bucketValues } from "./aggregate.js";
import { answerBytes, isSmallWork, readBatches, slotBytes } from "./cost.js";
import { type Freshness, freshness, isSaved, newestDue } from "./freshness.js";
import { type Buckets, type SeriesPlan, windowsOf } from "./plan.js";

export interface ReadPlansDependencies {
  readonly store: Pick<SeriesStore, "mayHold">;
  readonly slots: SlotCache;
  readonly generations: Generations;
  /** Memory of the cached JSON. */
  readonly memory: CacheMemory;
}

/** The values of one series. */
export interface FetchedSeries extends Freshness {
  readonly plan: SeriesPlan;
  /** The JSON array of its points, `[{"value":…,"ts":"…"},…]`. */
  readonly json: Buffer;
  /** Whether no store was read for it. */
  readonly isCached: boolean;
  /** Current while no write can have changed the values. */
  readonly versions: VersionVector;
}

/**
 * Reads the values of each plan as of `now` (Unix ms), in order, by one read of the store unless the plans are large;
 * slots are kept for `retention` ms. Reserves memory, and stops when the reservation has ended. Rejects rather than
 * return a partial result.
 */
export type ReadPlans = (
  plans: readonly SeriesPlan[],
  now: number,
  retention: number | undefined,
  reading: Reservation,
) => Promise<FetchedSeries[]>;

/** The values of a plan. */
interface Values {
  readonly json: Buffer;
  /** Whether the newest due slot is saved. */
  readonly isSaved: boolean;
}

/** Memory of a value besides its JSON, bytes. */
const VALUES_BYTES = 250;

export function readPlans({ store, slots, generations, memory }: ReadPlansDependencies): ReadPlans {
  // A write changes few series of a dashboard; the JSON of the others is reused.
  const cache = new VersionedCache<Values>(generations, memory, ({ json }) => json.byteLength + VALUES_BYTES);

  return async (plans, now, retention, reading) => {
    const keys = plans.map((plan) => cacheKey(plan, now));
    const cached = keys.map((key) => cache.get(key));
    const missing = plans.filter((_, i) => cached[i] === undefined);
    const made = missing.length === 0 ? [].values() : (await read(missing, now, reading)).values();
    return plans.map((plan, i) => {
      const hit = cached[i];
      const { value, versions, isCached } =
        hit === undefined ? (made.next().value as Made) : { ...hit, isCached: true };
      if (hit === undefined) cache.set(keys[i] as string, { value, versions });
      return { plan, json: value.json, versions, isCached, ...freshness(plan, value.isSaved, now, retention) };
    });
  };

  /** Reads one batch after another. */
  async function read(plans: readonly SeriesPlan[], now: number, reading: Reservation): Promise<Made[]> {
    reading.reserve(answerBytes(plans, mayHold));
    const made: Made[] = [];
    const isSmall = isSmallWork(plans);
    for (const batch of readBatches(plans)) {
      if (!isSmall) await yieldToStarted();
      reading.refuseIfOver();
      const bytes = slotBytes(batch, mayHold);
      reading.reserve(bytes);
      try {
        const read = (await slots.read(batch.flatMap(windowsOf))).values();
        for (const plan of batch) {
          const stored = plan.stored.map(() => read.next().value as CachedSlots);
          made.push(makeValues(plan, stored, now));
          await yieldWhenDue();
        }
      } finally {
        reading.release(bytes);
      }
      reading.progressed();
    }
    return made;
  }

  function mayHold({ stored }: SeriesPlan): boolean {
    return stored.some((series) => store.mayHold(series));
  }
}

/** Values that were computed for this call. */
interface Made extends Versioned<Values> {
  readonly isCached: boolean;
}

function makeValues(plan: SeriesPlan, stored: readonly CachedSlots[], now: number): Made {
  const columns = stored.map((slots) => slots.column());
  const json = pointsJson(bucketValues(plan, columns), plan.buckets, plan.lead);
  return {
    value: { json, isSaved: isSaved(plan, columns, now) },
    versions: joinVersions(stored.map(({ versions }) => versions)),
    isCached: !stored.some(({ read }) => read),
  };
}

/**
 * Returns the JSON array of the points from the bucket `lead` on, `[{"value":…,"ts":"…"},…]`, without buckets of NaN.
 */
function pointsJson(values: Float64Array, buckets: Buckets, lead: number): Buffer {
  const ends = pointEnds(buckets);
  let json = "";
  // Serialized by hand: two fields per point, numbers only, and the hottest code of the service.
  for (let i = lead; i < values.length; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) json += `,{"value":${value}${ends[i]}`;
  }
  // A buffer of its own: one of the shared pool would hold the memory of its neighbours.
  const buffer = Buffer.allocUnsafeSlow(Math.max(2, json.length + 1));
  buffer.write(`[${json.slice(1)}]`, "latin1");
  return buffer;
}

let lastEnds: { readonly of: Buckets; readonly ends: readonly string[] } | undefined;

/**
 * Returns the text that follows the value of each bucket. Caches it for the next series: the series of one response
 * mostly have the same buckets.
 */
function pointEnds(buckets: Buckets): readonly string[] {
  if (lastEnds?.of === buckets) return lastEnds.ends;
  const ends = buckets.map((start) => `,"ts":"${start}"}`);
  lastEnds = { of: buckets, ends };
  return ends;
}

/** Two plans of one key have the same values and the same due slot. */
function cacheKey({ request, buckets, lead, filled, readFrom, from, to }: SeriesPlan, now: number): string {
  const { dimension, id, type, aggregation, grid } = request;
  const due = newestDue(request, now);
  return `${dimension.name}\0${id}\0${type}\0${aggregation} ${grid.key} ${buckets[0]} ${lead} ${filled} ${readFrom} ${from} ${to} ${due}`;
}
