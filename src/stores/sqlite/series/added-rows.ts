import { crc32 } from "node:zlib";
import { StartError } from "../../../errors.js";
import type { AddedPoint } from "../../../metrics/series.js";
import { CHECKSUM, checksumOf, signed } from "../checksum.js";
import { type Database, EXACT_REAL, exactReal, inTransaction, withoutSync } from "../connection.js";

/**
 * The points of slots that are not settled, under the number of their series. In the order of time, so that a commit
 * writes few pages, and settling removes neighbours. The sum of a slot is an ordinary value of the source `added`;
 * `added_rest` has the part of the sum that its double lacks, unless that is 0, in the form of `ExactSum`: a double, or
 * bytes if it needs more. `slot` is the slot's start, Unix ms.
 *
 * `added_piece` has points of a large write until they are stored in `added`: five doubles each, and rests as JSON,
 * with a checksum.
 */
export const addedSchema = `CREATE TABLE IF NOT EXISTS added (
    ms INTEGER NOT NULL, ns INTEGER NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (ms, ns, series, source)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS added_rest (
    slot INTEGER NOT NULL, series INTEGER NOT NULL, rest REAL NOT NULL, PRIMARY KEY (slot, series)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS added_piece (
    id INTEGER PRIMARY KEY, points BLOB NOT NULL, rests TEXT NOT NULL, sum INTEGER NOT NULL
  )`;

/** Rows of `added`: five doubles each. */
export type PointRows = Float64Array;

/** A row of `added_rest`. */
export type RestRow = readonly [slot: number, series: number, rest: number | Uint8Array];

/** A point with the number of its series. */
export interface SeriesPoint {
  readonly series: number;
  readonly point: AddedPoint;
}

/** Points in one statement: it takes about half of the time of a statement for each. */
export const KEYS_AT_ONCE = 50;

/** Numbers of a row, of its key, and parameters that store it. */
const CELLS = 5;
const KEY_CELLS = 4;
const PARAMETERS = 6;

/** The rows of added points in `metrics.db`. */
export interface AddedRows {
  /** Returns the stored value of each of at most `KEYS_AT_ONCE` points; an empty list if none is stored. */
  valuesOf(points: readonly SeriesPoint[]): (number | undefined)[];
  /** Stores or replaces rows, inside the caller's transaction. */
  put(points: PointRows, rests: readonly RestRow[]): void;
  /** Stores rows as pieces of `size` points each, inside the caller's transaction. */
  addPieces(points: PointRows, rests: readonly RestRow[], size: number): void;
  /** Stores the rows of the oldest piece, and removes it; false if there is none. */
  putPiece(): boolean;
}

/** Throws a `StartError` if a piece is damaged. */
export function addedRows(db: Database): AddedRows {
  const many = (tuple: string) => Array(KEYS_AT_ONCE).fill(tuple).join(", ");
  const select = db.prepare(`SELECT ms, ns, series, source, value FROM added
    WHERE (ms, ns, series, source) IN (VALUES ${many("(?, ?, ?, ?)")})`);
  const tuple = `(?, ?, ?, ?, ${EXACT_REAL})`;
  const replace = db.prepare(`INSERT OR REPLACE INTO added VALUES ${tuple}`);
  const replaceMany = db.prepare(`INSERT OR REPLACE INTO added VALUES ${many(tuple)}`);
  const replaceRest = db.prepare(`INSERT OR REPLACE INTO added_rest VALUES (?, ?, ${EXACT_REAL})`);
  const replaceLongRest = db.prepare("INSERT OR REPLACE INTO added_rest VALUES (?, ?, ?)");
  const insertPiece = db.prepare("INSERT INTO added_piece VALUES (?, ?, ?, ?)");
  const pieces = db.prepare(`SELECT id, points, rests, ${CHECKSUM} FROM added_piece ORDER BY id`);
  const removePiece = db.prepare("DELETE FROM added_piece WHERE id = ?");
  const lastPiece = db.prepare("SELECT coalesce(max(id), 0) AS last FROM added_piece");
  for (const row of pieces.iterate()) pieceOf(row as unknown as PieceRow);

  function put(cells: PointRows, rests: readonly RestRow[]): void {
    const numbers: number[] = [];
    for (const [i, cell] of cells.entries()) {
      if (i % CELLS < KEY_CELLS) numbers.push(cell);
      else numbers.push(...exactReal(cell));
    }
    const some = KEYS_AT_ONCE * PARAMETERS;
    let at = 0;
    for (; at + some <= numbers.length; at += some) replaceMany.run(...numbers.slice(at, at + some));
    for (; at < numbers.length; at += PARAMETERS) replace.run(...numbers.slice(at, at + PARAMETERS));
    for (const [slot, series, rest] of rests) {
      if (typeof rest === "number") replaceRest.run(slot, series, ...exactReal(rest));
      else replaceLongRest.run(slot, series, rest);
    }
  }

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

    put,

    addPieces(points, rests, size) {
      let { last: id } = lastPiece.get() as { last: number };
      const cells = size * CELLS;
      const share = Math.ceil((rests.length * cells) / points.length);
      for (let piece = 0; piece * cells < points.length; piece += 1) {
        const bytes = new Uint8Array(points.slice(piece * cells, (piece + 1) * cells).buffer);
        const texts = textOf(rests.slice(piece * share, (piece + 1) * share));
        id += 1;
        insertPiece.run(id, bytes, texts, signed(sumOf(id, bytes, texts)));
      }
    },

    putPiece() {
      const row = pieces.get() as PieceRow | undefined;
      if (row === undefined) return false;
      const { points, rests } = pieceOf(row);
      // After a power cut the piece is left and is stored again, which changes nothing.
      withoutSync(db, () =>
        inTransaction(db, () => {
          put(points, rests);
          removePiece.run(row.id);
        }),
      );
      return true;
    },
  };
}

/** Returns the rows of points. */
export function pointRows(points: readonly SeriesPoint[]): PointRows {
  const rows = new Float64Array(CELLS * points.length);
  let at = 0;
  for (const { series, point } of points) {
    rows[at] = point.ms;
    rows[at + 1] = point.ns;
    rows[at + 2] = series;
    rows[at + 3] = point.source;
    rows[at + 4] = point.value;
    at += CELLS;
  }
  return rows;
}

/** A damaged row may contain values of any type. */
interface PieceRow {
  readonly id: number;
  readonly points: unknown;
  readonly rests: unknown;
  readonly sum: unknown;
}

/** Throws a `StartError` if the row is damaged. */
function pieceOf({ id, points, rests, sum }: PieceRow): { points: Float64Array; rests: readonly RestRow[] } {
  if (points instanceof Uint8Array && typeof rests === "string" && sumOf(id, points, rests) === sum) {
    // A blob need not be aligned to 8 bytes.
    return { points: new Float64Array(new Uint8Array(points).buffer), rests: restsOf(rests) };
  }
  throw new StartError(
    `Row ${id} of the table added_piece in metrics.db is damaged: put back a backup of the file, or remove the row (DELETE FROM added_piece WHERE id = ${id}): points of one write are then counted twice if they are sent again`,
  );
}

function sumOf(id: number, points: Uint8Array, rests: string): number {
  return checksumOf(id, crc32(rests), points);
}

/** A rest of bytes is text in JSON. */
function textOf(rests: readonly RestRow[]): string {
  return JSON.stringify(
    rests.map(([slot, series, rest]) => [slot, series, typeof rest === "number" ? rest : Buffer.from(rest).toString()]),
  );
}

function restsOf(text: string): RestRow[] {
  const rests = JSON.parse(text) as [number, number, number | string][];
  return rests.map(([slot, series, rest]) => [slot, series, typeof rest === "number" ? rest : Buffer.from(rest)]);
}
