import { LRUCache } from "lru-cache";
import type { Epochs, ReadToken } from "./epochs.js";
import type { SeriesFragment } from "./series-fragment.js";
import type { SeriesPlan } from "./series-plan.js";

/** Values of a plan, as of this token. */
export interface KeptFragment {
  readonly fragment: SeriesFragment;
  readonly token: ReadToken;
}

/** What an entry takes besides its JSON and its key, roughly, bytes. */
const ENTRY_BYTES = 1000;

/** Values that were made lately, at most `bytes` of them. Exact under writes: see `Epochs`. */
export class FragmentCache {
  readonly #epochs: Epochs;
  readonly #fragments: LRUCache<string, KeptFragment>;

  constructor(epochs: Epochs, bytes: number) {
    this.#epochs = epochs;
    this.#fragments = new LRUCache<string, KeptFragment>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ fragment }, key) => fragment.json.byteLength + 4 * key.length + ENTRY_BYTES,
    });
  }

  get({ key }: SeriesPlan): KeptFragment | undefined {
    const kept = this.#fragments.get(key);
    return kept !== undefined && this.#epochs.isCurrent(kept.token) ? kept : undefined;
  }

  /** Keeps the fragment, unless it may be out of date already. */
  keep({ key }: SeriesPlan, kept: KeptFragment): void {
    if (this.#epochs.isCurrent(kept.token)) this.#fragments.set(key, kept);
  }
}
