import type { JsonArray } from "../../formats/json-array.js";
import type { Series } from "../../metrics/series.js";

/** Maximum characters of all lists. */
const MOST_LENGTH = 8 * 1024 * 1024;

/**
 * Series of the lists of blocks, by their text: a writer that repeats a list pays neither for parsing it nor for
 * finding its series. Stays because without it a write of blocks takes 1.1 to 1.4 times the CPU time of the process.
 */
export class SeriesLists {
  readonly #lists = new Map<string, readonly Series[]>();
  #length = 0;

  /** Returns the series of a list; undefined if it was not remembered. */
  find(list: JsonArray): readonly Series[] | undefined {
    return this.#lists.get(textOf(list));
  }

  /** Remembers the series of a valid list. */
  remember(list: JsonArray, series: readonly Series[]): void {
    const text = textOf(list);
    this.#length += text.length;
    if (this.#length > MOST_LENGTH) {
      this.#lists.clear();
      this.#length = text.length;
    }
    this.#lists.set(text, series);
  }
}

/** In Latin-1, each byte is a character. */
function textOf({ bytes, start, ends }: JsonArray): string {
  return bytes.toString("latin1", start, ends.at(-1));
}
