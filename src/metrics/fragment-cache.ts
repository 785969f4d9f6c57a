import { LRUCache } from "lru-cache";
import { seriesKey } from "./series.js";
import type { SeriesFragment } from "./series-fragment.js";
import type { SeriesPlan } from "./series-plan.js";
import type { SeriesWindow } from "./series-store.js";
import type { Look, SeriesHolder, SeriesWatch } from "./series-watch.js";

interface Entry {
  readonly fragment: SeriesFragment;
  readonly plan: SeriesPlan;
}

/** What an entry takes besides its JSON and its key, roughly, bytes. */
const ENTRY_BYTES = 1000;

/** Values that were made lately, at most `bytes` of them; each as long as nothing of its series in its window is written. */
export class FragmentCache implements SeriesHolder {
  readonly #watch: SeriesWatch;
  readonly #fragments: LRUCache<string, Entry>;
  /** Keys of the fragments made of each series. */
  readonly #bySeries = new Map<string, Set<string>>();

  constructor(watch: SeriesWatch, bytes: number) {
    this.#watch = watch;
    this.#fragments = new LRUCache<string, Entry>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ fragment }, key) => fragment.json.byteLength + 4 * key.length + ENTRY_BYTES,
      dispose: ({ plan }, key) => this.#forget(plan, key),
    });
    watch.addHolder(this);
  }

  get(plan: SeriesPlan): SeriesFragment | undefined {
    return this.#fragments.get(plan.key)?.fragment;
  }

  /** Keeps the fragment, if no series that it was made of was written since these looks were opened. */
  keep(plan: SeriesPlan, fragment: SeriesFragment, looks: readonly Look[]): void {
    if (!looks.every((look) => this.#watch.isFresh(look))) return;
    this.#fragments.set(plan.key, { fragment, plan });
    if (!this.#fragments.has(plan.key)) return;
    for (const part of plan.parts) {
      const key = seriesKey(part);
      const keys = this.#bySeries.get(key);
      if (keys === undefined) this.#bySeries.set(key, new Set([plan.key]));
      else keys.add(plan.key);
    }
  }

  drop(key: string, { from, to }: SeriesWindow): void {
    for (const fragment of this.#bySeries.get(key) ?? []) {
      const plan = this.#fragments.peek(fragment)?.plan;
      if (plan !== undefined && plan.readFrom < to && from < plan.to) this.#fragments.delete(fragment);
    }
  }

  dropAll(): void {
    this.#fragments.clear();
  }

  #forget(plan: SeriesPlan, key: string): void {
    for (const part of plan.parts) {
      const series = seriesKey(part);
      const keys = this.#bySeries.get(series);
      keys?.delete(key);
      if (keys?.size === 0) this.#bySeries.delete(series);
    }
  }
}
