import type { JsonArray } from "../../formats/json-array.js";
import type { Series } from "../../metrics/series.js";

/** Maximum bytes of all lists, and of one. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_LIST_BYTES = 1024 * 1024;

/**
 * Series of the lists of blocks, by their text: a writer that repeats a list pays neither for parsing it nor for
 * finding its series. Stays because without it a write of blocks takes 1.1 to 1.4 times the CPU time of the process.
 */
export class SeriesLists {
  readonly #lists = new Map<string, readonly Series[]>();
  #bytes = 0;

  /** Returns the series of a list; undefined if it was not remembered. */
  find(list: JsonArray): readonly Series[] | undefined {
    return isShort(list) ? this.#lists.get(textOf(list)) : undefined;
  }

  /** Remembers the series of a valid list. */
  remember(list: JsonArray, series: readonly Series[]): void {
    if (!isShort(list)) return;
    const text = textOf(list);
    if (this.#lists.has(text)) return;
    this.#bytes += text.length;
    if (this.#bytes > MAX_BYTES) {
      this.#lists.clear();
      this.#bytes = text.length;
    }
    this.#lists.set(text, series);
  }
}

function isShort({ start, ends }: JsonArray): boolean {
  return (ends.at(-1) ?? start) - start <= MAX_LIST_BYTES;
}

/** In Latin-1, each byte is a character. */
function textOf({ bytes, start, ends }: JsonArray): string {
  return bytes.toString("latin1", start, ends.at(-1));
}
