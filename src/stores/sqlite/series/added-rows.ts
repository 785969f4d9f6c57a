import type { AddedPoint } from "../../../metrics/series.js";
import type { Database } from "../connection.js";

/**
 * The points of slots that are not settled, under the number of their series. In the order of time, so that a commit
 * writes few pages, and settling removes neighbours. The sum of a slot is an ordinary value of the source `added`;
 * `added_rest` has the part of the sum that its double lacks, unless that is 0, in the form of `ExactSum`: a double, or
 * bytes if it needs more. `slot` is the slot's start, Unix ms.
 */
export const addedSchema = `CREATE TABLE IF NOT EXISTS added (
    ms INTEGER NOT NULL, ns INTEGER NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (ms, ns, series, source)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS added_rest (
    slot INTEGER NOT NULL, series INTEGER NOT NULL, rest REAL NOT NULL, PRIMARY KEY (slot, series)
  ) WITHOUT ROWID`;

/** A row of `added_rest`. */
export type RestRow = readonly [slot: number, series: number, rest: number | Uint8Array];

/** A point with the number of its series. */
interface SeriesPoint {
  readonly series: number;
  readonly point: AddedPoint;
}

/** Points in one statement: it takes about half of the time of a statement for each. */
export const KEYS_AT_ONCE = 50;

/** Numbers of a row, and of its key. */
const CELLS = 5;
const KEY_CELLS = 4;

/** The rows of added points in `metrics.db`. */
export interface AddedRows {
  /** Returns the stored value of each of at most `KEYS_AT_ONCE` points; an empty list if none is stored. */
  valuesOf(points: readonly SeriesPoint[]): (number | undefined)[];
  /** Stores or replaces rows, inside the caller's transaction. */
  put(points: readonly SeriesPoint[], rests: readonly RestRow[]): void;
}

export function addedRows(db: Database): AddedRows {
  const tuples = (tuple: string) => Array(KEYS_AT_ONCE).fill(tuple).join(", ");
  const select = db.prepare(`SELECT ms, ns, series, source, value FROM added
    WHERE (ms, ns, series, source) IN (VALUES ${tuples("(?, ?, ?, ?)")})`);
  const replace = db.prepare("INSERT OR REPLACE INTO added VALUES (?, ?, ?, ?, ?)");
  const replaceMany = db.prepare(`INSERT OR REPLACE INTO added VALUES ${tuples("(?, ?, ?, ?, ?)")}`);
  const replaceRest = db.prepare("INSERT OR REPLACE INTO added_rest VALUES (?, ?, ?)");

  return {
    valuesOf(points) {
      const cells: (number | null)[] = [];
      for (const { series, point } of points) cells.push(point.ms, point.ns, series, point.source);
      while (cells.length < KEYS_AT_ONCE * KEY_CELLS) cells.push(null);
      const found = select.all(...cells) as unknown as Record<"ms" | "ns" | "series" | "source" | "value", number>[];
      if (found.length === 0) return [];
      const values = new Map(
        found.map(({ ms, ns, series, source, value }) => [`${ms},${ns},${series},${source}`, value]),
      );
      return points.map(({ series, point }) => values.get(`${point.ms},${point.ns},${series},${point.source}`));
    },

    put(points, rests) {
      const cells: number[] = [];
      for (const { series, point } of points) cells.push(point.ms, point.ns, series, point.source, point.value);
      const most = KEYS_AT_ONCE * CELLS;
      let at = 0;
      for (; at + most <= cells.length; at += most) replaceMany.run(...cells.slice(at, at + most));
      for (; at < cells.length; at += CELLS) replace.run(...cells.slice(at, at + CELLS));
      for (const rest of rests) replaceRest.run(...rest);
    },
  };
}
