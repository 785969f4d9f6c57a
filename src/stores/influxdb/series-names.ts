import { setImmediate } from "node:timers/promises";
import { groupedCalls } from "../../async/grouped-calls.js";
import type { Dimension } from "../../metrics/dimensions.js";
import type { ListedIds, SeriesStore } from "../../metrics/ports.js";
import type { Series, SlotColumn } from "../../metrics/series.js";
import { compareBytes, searchText } from "../../text.js";

/** Loads the ids of all series of a dimension and type, in the order of the server. */
type LoadIds = (dimension: Dimension, type: string, take: (id: string) => void) => Promise<void>;

/** Maximum age of a list, ms. */
const MAX_AGE_MS = 10_000;

/** Maximum calls that wait for one load. */
const MAX_CALLS = 10_000;

/**
 * Ids of series by dimension, sorted in memory. The server lists all values of a tag or none, in a second for 200,000
 * in 40 weeks, so a page is cut from a list that is cached for 10 s. A series added by this process invalidates the
 * list. `time` is monotonic, ms.
 */
export class SeriesNames {
  readonly #load: LoadIds;
  readonly #time: () => number;
  readonly #lists = new Map<Dimension, IdList>();

  constructor(load: LoadIds, time = () => performance.now()) {
    this.#load = load;
    this.#time = time;
  }

  /** Call it after each write. */
  written(columns: readonly SlotColumn[]): void {
    for (const { series, values } of columns) {
      if (values.some((value) => !Number.isNaN(value))) this.#lists.get(series.dimension)?.written(series);
    }
  }

  readonly list: SeriesStore["list"] = async (dimension, { after, limit, descending = false, ...among }) => {
    const { ids, typesAt } = await this.#listOf(dimension).read();
    const page = await pageOf(ids, among, { after, limit, descending });
    return page.map((at) => ({ id: ids[at] as string, types: typesAt(at) }));
  };

  readonly count: SeriesStore["count"] = async (dimension, among) => {
    const { ids } = await this.#listOf(dimension).read();
    if ((among.contains ?? "") === "") {
      const { first, end } = rangeOf(ids, among.prefix);
      return end - first;
    }
    const everyId = { limit: Number.POSITIVE_INFINITY, after: undefined, descending: false };
    return (await pageOf(ids, among, everyId)).length;
  };

  #listOf(dimension: Dimension): IdList {
    let list = this.#lists.get(dimension);
    if (list === undefined) {
      list = new IdList(dimension.storedTypes, (type, take) => this.#load(dimension, type, take), this.#time);
      this.#lists.set(dimension, list);
    }
    return list;
  }
}

/** Ids in the order of their UTF-8 bytes. */
interface SortedIds {
  readonly ids: readonly string[];
  /** Returns the stored types of which the id at this index has a point. */
  typesAt(at: number): readonly string[];
}

/** The ids of one dimension. */
class IdList {
  readonly #time: () => number;
  /** One load at a time: calls during a load wait for the next one, as a write may require it. */
  readonly #reload: (calls: readonly undefined[]) => Promise<SortedIds>;
  #sorted: SortedIds = { ids: [], typesAt: () => [] };
  #freshUntil = Number.NEGATIVE_INFINITY;
  #isLoading = false;
  /** Number of new series written. */
  #added = 0;

  constructor(
    types: readonly string[],
    load: (type: string, take: (id: string) => void) => Promise<void>,
    time: () => number,
  ) {
    this.#time = time;
    this.#reload = groupedCalls(
      async () => {
        if (this.#isFresh()) return this.#sorted;
        const added = this.#added;
        this.#isLoading = true;
        try {
          this.#sorted = await loadSorted(types, load);
        } finally {
          this.#isLoading = false;
        }
        // The load may have missed writes during it.
        if (added === this.#added) this.#freshUntil = this.#time() + MAX_AGE_MS;
        return this.#sorted;
      },
      { most: MAX_CALLS, atOnce: 1 },
    );
  }

  /** Invalidates the list if it lacks this series. */
  written({ id, type }: Pick<Series, "id" | "type">): void {
    if (!this.#isFresh() && !this.#isLoading) return;
    const { ids, typesAt } = this.#sorted;
    const at = placeOf(ids, id);
    if (ids[at] === id && typesAt(at).includes(type)) return;
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

async function loadSorted(
  types: readonly string[],
  load: (type: string, take: (id: string) => void) => Promise<void>,
): Promise<SortedIds> {
  /** A bit per type. */
  const typesOf = new Map<string, number>();
  await Promise.all(
    types.map((type, i) => load(type, (id) => void typesOf.set(id, (typesOf.get(id) ?? 0) | (1 << i)))),
  );
  // The server lists in this order, type by type, so that sorting merges sorted runs.
  const ids = [...typesOf.keys()].sort(compareBytes);
  return { ids, typesAt: (at) => types.filter((_, i) => ((typesOf.get(ids[at] as string) ?? 0) & (1 << i)) !== 0) };
}

interface Page {
  readonly after: string | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

/** Ids compared in one step; other requests run between steps. */
const IDS_PER_STEP = 20_000;

/** Returns the indexes of up to `limit` ids after `after`, in either order. */
async function pageOf(
  sorted: readonly string[],
  { prefix, contains = "" }: ListedIds,
  { after, limit, descending }: Page,
): Promise<number[]> {
  let { first, end } = rangeOf(sorted, prefix);
  if (after !== undefined) {
    const at = placeOf(sorted, after);
    if (descending) end = Math.min(end, at);
    else first = Math.max(first, sorted[at] === after ? at + 1 : at);
  }
  const page: number[] = [];
  for (let i = 0; i < end - first && page.length < limit; i += 1) {
    if (i % IDS_PER_STEP === IDS_PER_STEP - 1) await setImmediate();
    const at = descending ? end - 1 - i : first + i;
    if (contains === "" || searchText(sorted[at] as string).includes(contains)) page.push(at);
  }
  return page;
}

/** Upper bound of all ids, by length and in the order of UTF-8 bytes. */
const LAST_ID = "\u{10ffff}".repeat(256);

/** Returns the range [first, end) of the ids that begin with `prefix`. */
function rangeOf(sorted: readonly string[], prefix: string): { first: number; end: number } {
  if (prefix === "") return { first: 0, end: sorted.length };
  const end = placeOf(sorted, `${prefix}${LAST_ID}`);
  return { first: placeOf(sorted, prefix), end: sorted[end]?.startsWith(prefix) ? end + 1 : end };
}

/** Returns the index of the first id that is not before this one. */
function placeOf(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(sorted[middle] as string, id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
