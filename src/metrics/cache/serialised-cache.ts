import { LRUCache } from "lru-cache";
import type { SeriesPlan } from "../query/series-plan.js";
import type { SerialisedSeries } from "../query/series-values.js";
import type { Epochs, ReadToken } from "./epochs.js";

/** Values of a plan, as of this token. */
export interface KeptSeries {
  readonly serialised: SerialisedSeries;
  readonly token: ReadToken;
}

/** What an entry takes besides its JSON and its key, roughly, bytes. */
const ENTRY_BYTES = 1000;

/** Values that were made lately, at most `bytes` of them. Exact under writes: see `Epochs`. */
export class SerialisedCache {
  readonly #epochs: Epochs;
  readonly #kept: LRUCache<string, KeptSeries>;

  constructor(epochs: Epochs, bytes: number) {
    this.#epochs = epochs;
    this.#kept = new LRUCache<string, KeptSeries>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ serialised }, key) => serialised.json.byteLength + 4 * key.length + ENTRY_BYTES,
    });
  }

  get({ key }: SeriesPlan): KeptSeries | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && this.#epochs.isCurrent(kept.token) ? kept : undefined;
  }

  /** Keeps the values, unless it may be out of date already. */
  keep({ key }: SeriesPlan, kept: KeptSeries): void {
    if (this.#epochs.isCurrent(kept.token)) this.#kept.set(key, kept);
  }
}
