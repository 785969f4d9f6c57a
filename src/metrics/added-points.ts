import { createHash } from "node:crypto";
import { HOUR, MAX_SLOT_MS } from "./dimensions.js";
import { type AddedPoint, type AddedPoints, type Series, seriesKey } from "./series.js";

/** Hex digits of a source's number, which a double represents exactly. */
const SOURCE_DIGITS = 12;

/** Number of points without a source. */
export const NO_SOURCE = 0;

/** Returns the number of a source: a part of its SHA-256. */
export function sourceNumber(source: string): number {
  if (source === "") return NO_SOURCE;
  return Number.parseInt(createHash("sha256").update(source).digest("hex").slice(0, SOURCE_DIGITS), 16);
}

/** Time after the end of a slot in which points are added to it, ms. */
export const ADDED_UNTIL_MS = 48 * HOUR;

/** Maximum time between the check of a point and its write, ms. */
const MARGIN_MS = HOUR;

/** Returns the instant (Unix ms) before which slots start to which no point is added any more. */
export function settledBefore(now: number): number {
  return now - ADDED_UNTIL_MS - MAX_SLOT_MS - MARGIN_MS;
}

/** Collects the added points of one write by series. */
export class AddedFold {
  /** Points by the key of their series, which may be several objects. */
  readonly #bySeries = new Map<string, { readonly series: Series; readonly points: AddedPoint[] }>();

  add(series: Series, ms: number, value: number, ns = 0, source = NO_SOURCE): void {
    const point = { ms, ns, source, value };
    const key = seriesKey(series);
    const known = this.#bySeries.get(key);
    if (known === undefined) this.#bySeries.set(key, { series, points: [point] });
    else known.points.push(point);
  }

  /** Adds a value or null for each of these times. */
  addRow(series: Series, times: readonly number[], row: readonly (number | null)[]): void {
    for (const [i, value] of row.entries()) if (value !== null) this.add(series, times[i] as number, value);
  }

  points(): AddedPoints[] {
    return [...this.#bySeries.values()];
  }
}
