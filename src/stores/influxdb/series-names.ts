import { groupedCalls } from "../../async/grouped-calls.js";
import { yieldWhenDue } from "../../async/yielding.js";
import type { CacheMemory } from "../../cache-memory.js";
import { type Dimension, dimensions } from "../../metrics/dimensions.js";
import type { ListedIds, SeriesStore } from "../../metrics/ports.js";
import type { Series } from "../../metrics/series.js";
import { compareBytes, searchText } from "../../text.js";

/** Loads the ids of all series of a dimension and type, in the order of the server. */
type LoadIds = (dimension: Dimension, type: string, take: (id: string) => void) => Promise<void>;

/** Maximum age of a list, ms. */
const MAX_AGE_MS = 10_000;

/** Memory of an id besides its characters, bytes. */
const ID_BYTES = 80;

/** Maximum calls that wait for one load. */
const MAX_CALLS = 10_000;

/**
 * Ids of series by dimension, sorted in memory. The server lists only all values of a tag, which takes a second for
 * 200,000 values in 40 weeks, so pages are cut from a list that is cached for 10 s. A series added by this process
 * invalidates the list. The lists count in the memory of the caches, which does not remove them. `time` is monotonic,
 * ms.
 */
export class SeriesNames {
  readonly #lists: ReadonlyMap<Dimension, IdList>;

  constructor(load: LoadIds, cache: CacheMemory, time = () => performance.now()) {
    this.#lists = new Map(dimensions.map((dimension) => [dimension, new IdList(dimension, load, cache, time)]));
  }

  /** Call it after each write, with the series that have a new point. */
  written(written: readonly Series[]): void {
    for (const series of written) this.#lists.get(series.dimension)?.written(series);
  }

  readonly list: SeriesStore["list"] = async (dimension, { after, limit, descending = false, ...among }) => {
    const { ids, typesOf } = await this.#idsOf(dimension);
    const page = await pageOf(ids, among, { after, limit, descending });
    return page.map((id) => ({ id, types: typesOf(id) }));
  };

  readonly count: SeriesStore["count"] = async (dimension, among) => {
    const { ids } = await this.#idsOf(dimension);
    if (among.prefix === "" && (among.contains ?? "") === "") return ids.length;
    const everyId = { limit: Number.POSITIVE_INFINITY, after: undefined, descending: false };
    return (await pageOf(ids, among, everyId)).length;
  };

  #idsOf(dimension: Dimension): Promise<SortedIds> {
    return (this.#lists.get(dimension) as IdList).read();
  }
}

/** Ids in the order of their UTF-8 bytes. */
interface SortedIds {
  readonly ids: readonly string[];
  /** Returns the stored types of which this id has a point. */
  typesOf(id: string): readonly string[];
}

/** The ids of one dimension. */
class IdList {
  readonly #time: () => number;
  /**
   * One load at a time. Calls during a load wait for the next one: the load may miss a write that preceded the call.
   */
  readonly #reload: (calls: readonly undefined[]) => Promise<SortedIds>;
  #sorted: SortedIds = { ids: [], typesOf: () => [] };
  #freshUntil = Number.NEGATIVE_INFINITY;
  /** Number of new series written. */
  #added = 0;

  constructor(dimension: Dimension, load: LoadIds, cache: CacheMemory, time: () => number) {
    this.#time = time;
    this.#reload = groupedCalls(
      async () => {
        if (this.#isFresh()) return this.#sorted;
        const added = this.#added;
        const sorted = await loadSorted(dimension, load);
        cache.hold(bytesOf(sorted) - bytesOf(this.#sorted));
        this.#sorted = sorted;
        // The load may have missed writes during it.
        if (added === this.#added) this.#freshUntil = this.#time() + MAX_AGE_MS;
        return this.#sorted;
      },
      { most: MAX_CALLS, atOnce: 1 },
    );
  }

  /** Invalidates the list if it lacks this series. */
  written({ id, type }: Pick<Series, "id" | "type">): void {
    if (this.#sorted.typesOf(id).includes(type)) return;
    this.#added += 1;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
  }

  read(): Promise<SortedIds> {
    return this.#isFresh() ? Promise.resolve(this.#sorted) : this.#reload([undefined]);
  }

  #isFresh(): boolean {
    return this.#time() < this.#freshUntil;
  }
}

async function loadSorted(dimension: Dimension, load: LoadIds): Promise<SortedIds> {
  const types = dimension.storedTypes;
  /** A bit per type. */
  const bitsOf = new Map<string, number>();
  await Promise.all(
    types.map((type, i) => load(dimension, type, (id) => void bitsOf.set(id, (bitsOf.get(id) ?? 0) | (1 << i)))),
  );
  // The server lists in this order, type by type, so that sorting merges sorted runs.
  const ids = [...bitsOf.keys()].sort(compareBytes);
  return { ids, typesOf: (id) => types.filter((_, i) => ((bitsOf.get(id) ?? 0) & (1 << i)) !== 0) };
}

function bytesOf({ ids }: SortedIds): number {
  return ids.reduce((bytes, id) => bytes + ID_BYTES + id.length, 0);
}

interface Page {
  readonly after: string | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

/** Ids compared in one step; other requests run between steps. */
const IDS_PER_STEP = 20_000;

/** Returns up to `limit` of these ids, which are sorted, after `after` in either order. */
async function pageOf(
  sorted: readonly string[],
  { prefix, contains = "" }: ListedIds,
  { after, limit, descending }: Page,
): Promise<string[]> {
  const page: string[] = [];
  let place = firstPlace(sorted, after, descending);
  for (let compared = 1; page.length < limit && place >= 0 && place < sorted.length; compared += 1) {
    if (compared % IDS_PER_STEP === 0) await yieldWhenDue();
    const id = sorted[place] as string;
    if (id.startsWith(prefix) && (contains === "" || searchText(id).includes(contains))) page.push(id);
    place += descending ? -1 : 1;
  }
  return page;
}

/** Returns the place of the first id after `after` in either order, by binary search. */
function firstPlace(sorted: readonly string[], after: string | undefined, descending: boolean): number {
  if (after === undefined) return descending ? sorted.length - 1 : 0;
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (compareBytes(sorted[middle] as string, after) < 0) from = middle + 1;
    else to = middle;
  }
  if (descending) return from - 1;
  return sorted[from] === after ? from + 1 : from;
}
