import { splitArray } from "../../formats/json-array.js";
import type { Series } from "../../metrics/series.js";

/** The first member of a block, up to its list. */
const BEGIN = Buffer.from('{"series":');

/** Bytes of a list by which it is found; a shorter one is parsed each time. */
const KEY_BYTES = 128;

/** Maximum bytes of all lists. */
const MOST_BYTES = 8 * 1024 * 1024;

/** The list of series with which a body begins. */
export interface SeriesList {
  /** Offset of the byte after the list. */
  readonly end: number;
  readonly series: readonly Series[];
}

/**
 * Series of lists that blocks began with, by their bytes: a writer that repeats a list pays neither for parsing it nor
 * for finding its series.
 */
export class SeriesLists {
  readonly #lists = new Map<string, { readonly bytes: Uint8Array; readonly series: readonly Series[] }>();
  #bytes = 0;

  /** Returns the list with which a body begins; undefined if it was not remembered. */
  find(body: Buffer): SeriesList | undefined {
    const list = this.#lists.get(keyOf(body));
    if (list === undefined) return undefined;
    const end = BEGIN.length + list.bytes.length;
    if (!body.subarray(BEGIN.length, end).equals(list.bytes) || mayHaveSeries(body, end)) return undefined;
    return { end, series: list.series };
  }

  /** Remembers the series of a valid block that begins with their list. */
  remember(body: Buffer, series: readonly Series[]): void {
    if (!BEGIN.equals(body.subarray(0, BEGIN.length))) return;
    const list = body.subarray(BEGIN.length);
    const end = splitArray(list, series.length)?.ends.at(-1);
    if (end === undefined || end < KEY_BYTES || mayHaveSeries(list, end)) return;
    // With memory of its own: a small buffer would keep the memory that it shares with others.
    const bytes = new Uint8Array(list.subarray(0, end + 1));
    this.#bytes += bytes.length;
    if (this.#bytes > MOST_BYTES) {
      this.#lists.clear();
      this.#bytes = bytes.length;
    }
    this.#lists.set(keyOf(body), { bytes, series });
  }
}

/** Returns whether a body may have a member `series` after this offset. It would replace the first one. */
function mayHaveSeries(body: Buffer, from: number): boolean {
  return body.includes('"series"', from) || body.includes("\\", from);
}

function keyOf(body: Buffer): string {
  return body.toString("latin1", 0, BEGIN.length + KEY_BYTES);
}
