import type { Dimension } from "../../metrics/dimensions.js";
import type { SeriesStore } from "../../metrics/ports.js";
import type { SlotColumn } from "../../metrics/series.js";
import { compareBytes } from "../../names.js";

/** Hands out the ids of all series of a dimension and type, as the server lists them. */
export type LoadIds = (dimension: Dimension, type: string, take: (id: string) => void) => Promise<void>;

/** What the server has listed is read again once it is this old, ms, and so many times as old as reading it took. */
const FRESH_MS = 5_000;
const FRESH_FACTOR = 20;

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

  readonly list: SeriesStore["list"] = async (dimension, { prefix, after = "", limit }) => {
    const byType = dimension.storedTypes.map(async (type) => {
      const ids = await this.#listOf(dimension, type).read();
      return { type, ids: pageOf(ids, prefix, after, limit) };
    });
    const found = new Map<string, string[]>();
    for (const { type, ids } of await Promise.all(byType)) {
      for (const id of ids) found.set(id, [...(found.get(id) ?? []), type]);
    }
    const inOrder = [...found].sort(([a], [b]) => compareBytes(a, b));
    return inOrder.slice(0, limit).map(([id, types]) => ({ id, types }));
  };

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

/** Up to `limit` ids after `after` that begin with `prefix`. */
function pageOf(sorted: readonly string[], prefix: string, after: string, limit: number): readonly string[] {
  let at = compareBytes(after, prefix) >= 0 ? placeOf(sorted, after) : placeOf(sorted, prefix);
  if (sorted[at] === after) at += 1;
  const page = sorted.slice(at, at + limit);
  const end = page.findIndex((id) => !id.startsWith(prefix));
  return end < 0 ? page : page.slice(0, end);
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
