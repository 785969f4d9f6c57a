import { setImmediate } from "node:timers/promises";
import type { Dimension } from "../../metrics/dimensions.js";
import type { ListedIds, SeriesStore } from "../../metrics/ports.js";
import type { SlotColumn } from "../../metrics/series.js";
import { compareBytes, searchText } from "../../names.js";

/** Hands out the ids of all series of a dimension and type, as the server lists them. */
type LoadIds = (dimension: Dimension, type: string, take: (id: string) => void) => Promise<void>;

/** What the server has listed is read again once it is this old, ms, and so many times as old as reading it took. */
const FRESH_MS = 5_000;
const FRESH_FACTOR = 20;

/** Counts that are kept. */
const COUNTS = 100;

/** Ids that a list takes note of, between two calls for it, before it is read again in place. */
const MOST_ADDED = 10_000;

/**
 * Ids of series, by dimension and type, sorted in memory: the server lists all of a tag's values or none, in a second for 200,000 in 40 weeks, so a page
 * is cut from a list that is kept. What this process writes is in it at once; what others write, and what retention removes, within seconds. `time` is that
 * of a clock that never goes back, ms.
 */
export class SeriesNames {
  readonly #load: LoadIds;
  readonly #time: () => number;
  readonly #lists = new Map<string, IdList>();
  /** Counts of ids with the lists that they were made from: a list that changes is another object. */
  readonly #counts = new Map<string, { readonly lists: readonly (readonly string[])[]; readonly count: number }>();

  constructor(load: LoadIds, time = () => performance.now()) {
    this.#load = load;
    this.#time = time;
  }

  /** Takes note of series that were written. */
  written(columns: readonly SlotColumn[]): void {
    for (const { series, values } of columns) {
      if (values.some((value) => !Number.isNaN(value))) {
        this.#lists.get(keyOf(series.dimension, series.type))?.add(series.id);
      }
    }
  }

  readonly list: SeriesStore["list"] = async (dimension, { after, limit, descending = false, ...among }) => {
    const found = new Map<string, string[]>();
    for (const { type, ids } of await this.#read(dimension)) {
      const page = await pageOf(ids, among, { after, limit, descending });
      for (const id of page) found.set(id, [...(found.get(id) ?? []), type]);
    }
    const inOrder = [...found].sort(([a], [b]) => (descending ? compareBytes(b, a) : compareBytes(a, b)));
    return inOrder.slice(0, limit).map(([id, types]) => ({ id, types }));
  };

  readonly count: SeriesStore["count"] = async (dimension, among) => {
    const lists = (await this.#read(dimension)).map(({ ids }) => ids);
    const key = JSON.stringify([dimension.name, among.prefix, among.contains]);
    const known = this.#counts.get(key);
    if (known !== undefined && lists.every((ids, i) => ids === known.lists[i])) return known.count;
    const everyId = { limit: Number.POSITIVE_INFINITY, after: undefined, descending: false };
    const found = new Set<string>();
    for (const ids of lists) for (const id of await pageOf(ids, among, everyId)) found.add(id);
    if (this.#counts.size >= COUNTS) this.#counts.clear();
    this.#counts.set(key, { lists, count: found.size });
    return found.size;
  };

  #read(dimension: Dimension): Promise<{ type: string; ids: readonly string[] }[]> {
    return Promise.all(
      dimension.storedTypes.map(async (type) => ({ type, ids: await this.#listOf(dimension, type).read() })),
    );
  }

  #listOf(dimension: Dimension, type: string): IdList {
    const key = keyOf(dimension, type);
    const known = this.#lists.get(key) ?? new IdList((take) => this.#load(dimension, type, take), this.#time);
    this.#lists.set(key, known);
    return known;
  }
}

function keyOf(dimension: Dimension, type: string): string {
  return `${dimension.name}\0${type}`;
}

/** The ids of one dimension and type. */
class IdList {
  readonly #load: (take: (id: string) => void) => Promise<void>;
  readonly #time: () => number;
  #sorted: readonly string[] = [];
  /** Written by this process since `#sorted` was asked for, and perhaps not in it. */
  #added = new Set<string>();
  #freshUntil = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  /** Why the ids could not be read, which is not tried again so soon. */
  #failed: { readonly error: unknown; readonly until: number } | undefined;

  constructor(load: (take: (id: string) => void) => Promise<void>, time: () => number) {
    this.#load = load;
    this.#time = time;
  }

  add(id: string): void {
    if (this.#loading === undefined && (!this.#isFresh() || has(this.#sorted, id))) return;
    this.#added.add(id);
    if (this.#loading !== undefined || this.#added.size < MOST_ADDED) return;
    this.#added = new Set();
    this.#freshUntil = Number.NEGATIVE_INFINITY;
  }

  async read(): Promise<readonly string[]> {
    if (!this.#isFresh()) {
      this.#loading ??= this.#reload().finally(() => {
        this.#loading = undefined;
      });
      await this.#loading;
    }
    if (this.#added.size > 0 && this.#loading === undefined) {
      const added = [...this.#added].filter((id) => !has(this.#sorted, id)).sort(compareBytes);
      this.#sorted = merged(this.#sorted, added);
      this.#added = new Set();
    }
    return this.#sorted;
  }

  /** Otherwise the next call reads all ids from the server, and nothing needs to be noted of what is written until then. */
  #isFresh(): boolean {
    return this.#time() < this.#freshUntil;
  }

  async #reload(): Promise<void> {
    const began = this.#time();
    if (this.#failed !== undefined && began < this.#failed.until) throw this.#failed.error;
    const pause = () => FRESH_FACTOR * (this.#time() - began);
    try {
      await this.#readAll();
      this.#failed = undefined;
      this.#freshUntil = this.#time() + Math.max(FRESH_MS, pause());
    } catch (error) {
      this.#failed = { error, until: this.#time() + Math.min(FRESH_MS, pause()) };
      throw error;
    }
  }

  async #readAll(): Promise<void> {
    // What was added before is on the server, or was removed from it since.
    this.#added = new Set();
    const ids: string[] = [];
    let isSorted = true;
    await this.#load((id) => {
      isSorted &&= ids.length === 0 || compareBytes(ids.at(-1) as string, id) < 0;
      ids.push(id);
    });
    this.#sorted = isSorted ? ids : [...new Set(ids)].sort(compareBytes);
  }
}

interface Page {
  readonly after: string | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

/** Ids that one step compares: other requests run in between. */
const AT_ONCE = 20_000;

/** No id is longer, and no character comes after this one in the order of UTF-8 bytes. */
const LAST_ID = "\u{10ffff}".repeat(256);

/** Up to `limit` of the ids after `after`, in either order. */
async function pageOf(
  sorted: readonly string[],
  { prefix, contains = "" }: ListedIds,
  { after, limit, descending }: Page,
): Promise<readonly string[]> {
  let first = placeOf(sorted, prefix);
  let end = prefix === "" ? sorted.length : placeOf(sorted, `${prefix}${LAST_ID}`);
  if (sorted[end]?.startsWith(prefix)) end += 1;
  if (after !== undefined) {
    const at = placeOf(sorted, after);
    if (descending) end = Math.min(end, at);
    else first = Math.max(first, sorted[at] === after ? at + 1 : at);
  }
  if (contains === "") {
    return descending
      ? sorted.slice(Math.max(first, end - limit), Math.max(first, end)).reverse()
      : sorted.slice(first, Math.min(first + limit, end));
  }
  const page: string[] = [];
  for (let i = 0; i < end - first && page.length < limit; i += 1) {
    if (i % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const id = sorted[descending ? end - 1 - i : first + i] as string;
    if (searchText(id).includes(contains)) page.push(id);
  }
  return page;
}

function has(sorted: readonly string[], id: string): boolean {
  return sorted[placeOf(sorted, id)] === id;
}

/** Where the first id stands that is not before this one. */
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

function merged(a: readonly string[], b: readonly string[]): string[] {
  const all: string[] = [];
  let next = 0;
  for (const id of a) {
    while (next < b.length && compareBytes(b[next] as string, id) < 0) all.push(b[next++] as string);
    all.push(id);
  }
  return [...all, ...b.slice(next)];
}
