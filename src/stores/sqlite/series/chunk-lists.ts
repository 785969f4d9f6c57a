import { type CacheMemory, SharedCache } from "../../../cache-memory.js";
import { CHECKSUM, checksumOf, signed } from "../checksum.js";
import { type Database, inTransaction } from "../connection.js";
import { DamagedRow, placeOfRow, rowOf, SOURCES } from "./chunks.js";

/**
 * Rows of `chunk` that belong to one series, counted from its first one: pairs of the first and the last row of a run,
 * in no order. The rows of a run are of one source and of successive chunks.
 */
export type Runs = readonly number[];

/** Memory of each row that a list names, bytes. */
const ROW_BYTES = 8;

/**
 * The rows of `chunk` that exist. A damaged page may hide a row, so a row is absent only if the list of its series does
 * not have it. `series.chunks` are the runs of a list as 32-bit integers, little-endian, and `series.sum` is its
 * checksum; both are NULL while the list is empty.
 */
export class ChunkLists {
  readonly #db: Database;
  readonly #select;
  readonly #update;
  readonly #rows;
  /**
   * Lists by the id of their series: stored lists, and lists that the current transaction has changed. The cache stays
   * because without it writes over 200,000 series take about a tenth more CPU.
   */
  readonly #cached: SharedCache<Runs, number>;
  readonly #changed = new Map<number, Runs>();

  constructor(db: Database, cache: CacheMemory) {
    this.#cached = new SharedCache(cache);
    this.#db = db;
    this.#select = db.prepare(`SELECT chunks, ${CHECKSUM} FROM series WHERE id = ?`);
    this.#update = db.prepare("UPDATE series SET chunks = ?, sum = ? WHERE id = ?");
    this.#rows = db.prepare("SELECT id AS row FROM chunk WHERE id >= ? AND id < ?");
  }

  /** Runs `work`, which changes rows of `chunk` and their lists, in one transaction that also stores the lists. */
  changing(work: () => void): void {
    try {
      inTransaction(this.#db, () => {
        work();
        for (const [series, runs] of this.#changed) {
          const { chunks, sum } = storedForm(series, runs);
          this.#update.run(chunks, sum, series);
        }
      });
      for (const [series, runs] of this.#changed) this.#cache(series, runs);
    } finally {
      this.#changed.clear();
    }
  }

  /**
   * Throws `DamagedRow` unless the rows found from `first` to `last`, in ascending order, are the listed ones.
   * Both are rows of one series.
   */
  verify(first: number, last: number, found: readonly { readonly row: number }[]): void {
    const { series } = placeOfRow(first);
    const start = rowOf(series, 0);
    const runs = clipped(this.#of(series), first - start, last - start);
    let listed = 0;
    for (let i = 0; i < runs.length; i += 2) {
      let at = 0;
      for (let row = start + (runs[i] as number); row <= start + (runs[i + 1] as number); row += SOURCES) {
        while (at < found.length && (found[at] as { row: number }).row < row) at += 1;
        if (found[at]?.row !== row) throw DamagedRow.missing(row);
        listed += 1;
      }
    }
    if (listed < found.length) throw this.#damaged(series);
  }

  /** Returns the first and the last listed row of a series (its id); undefined if there are none. */
  extentOf(series: number): { readonly first: number; readonly last: number } | undefined {
    const runs = this.#of(series);
    if (runs.length === 0) return undefined;
    const start = rowOf(series, 0);
    return { first: start + Math.min(...runs), last: start + Math.max(...runs) };
  }

  has(row: number): boolean {
    const { series } = placeOfRow(row);
    return includes(this.#of(series), row - rowOf(series, 0));
  }

  /** Adds a row, inside `changing`. Throws `DamagedRow` if it is listed already. */
  add(row: number): void {
    const { series } = placeOfRow(row);
    const runs = this.#of(series);
    const added = row - rowOf(series, 0);
    if (includes(runs, added)) throw DamagedRow.missing(row);
    this.#changed.set(series, extended(runs, added));
  }

  /** Removes the rows before a row of the same series, inside `changing`. */
  removeBefore(row: number): void {
    const { series } = placeOfRow(row);
    this.#changed.set(series, clipped(this.#of(series), row - rowOf(series, 0), Number.POSITIVE_INFINITY));
  }

  #of(series: number): Runs {
    const known = this.#changed.get(series) ?? this.#cached.get(series);
    if (known !== undefined) return known;
    const runs = this.#stored(series);
    this.#cache(series, runs);
    return runs;
  }

  #cache(series: number, runs: Runs): void {
    this.#cached.set(series, runs, ROW_BYTES * runs.length);
  }

  #stored(series: number): Runs {
    // A damaged row may contain values of any type.
    const { chunks, sum } = (this.#select.get(series) ?? {}) as { chunks?: unknown; sum?: unknown };
    if (chunks === null && sum === null) return [];
    if (!(chunks instanceof Uint8Array) || checksumOf(series, 0, chunks) !== sum) throw this.#damaged(series);
    return [...new Uint32Array(new Uint8Array(chunks).buffer)];
  }

  /** Returns the error for a list that cannot be read or does not have a row that was found. */
  #damaged(series: number): DamagedRow {
    const start = rowOf(series, 0);
    const rows = this.#rows.all(start, rowOf(series + 1, 0)) as { row: number }[];
    const { chunks, sum } = storedForm(series, rows.map(({ row }) => row - start).reduce<Runs>(extended, []));
    const bytes = chunks === null ? "NULL" : `x'${Buffer.from(chunks).toString("hex")}'`;
    return new DamagedRow(
      `The list of chunks of series ${series} in metrics.db is damaged: stop the service, and put back a backup of the file or accept the ${rows.length} rows that are found (UPDATE series SET chunks = ${bytes}, sum = ${sum} WHERE id = ${series})`,
    );
  }
}

/** Returns the columns of `series` that store a list. */
export function storedForm(
  series: number,
  runs: Runs,
): { readonly chunks: Uint8Array | null; readonly sum: number | null } {
  if (runs.length === 0) return { chunks: null, sum: null };
  const chunks = new Uint8Array(new Uint32Array(runs).buffer);
  return { chunks, sum: signed(checksumOf(series, 0, chunks)) };
}

function includes(runs: Runs, row: number): boolean {
  for (let i = 0; i < runs.length; i += 2) {
    const begin = runs[i] as number;
    if (row >= begin && row <= (runs[i + 1] as number) && (row - begin) % SOURCES === 0) return true;
  }
  return false;
}

/** Returns the rows of `runs` from `first` to `last`. */
function clipped(runs: Runs, first: number, last: number): Runs {
  const rest: number[] = [];
  for (let i = 0; i < runs.length; i += 2) {
    const [begin, end] = [runs[i] as number, Math.min(last, runs[i + 1] as number)];
    const from = begin + Math.max(0, Math.ceil((first - begin) / SOURCES)) * SOURCES;
    if (from <= end) rest.push(from, end);
  }
  return rest;
}

/** Returns the runs with another row, which extends or joins those next to it. */
export function extended(runs: Runs, row: number): Runs {
  let [first, last] = [row, row];
  const others: number[] = [];
  for (let i = 0; i < runs.length; i += 2) {
    const [begin, end] = [runs[i] as number, runs[i + 1] as number];
    if (end === row - SOURCES) first = begin;
    else if (begin === row + SOURCES) last = end;
    else others.push(begin, end);
  }
  return [...others, first, last];
}
