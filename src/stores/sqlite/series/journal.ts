import { setImmediate } from "node:timers/promises";
import { weightedBatches } from "../../../async/weighted-batches.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import { type Database, inTransaction } from "../connection.js";
import type { ChunkLists } from "./chunk-lists.js";
import { chunkWriter } from "./chunk-writer.js";
import { CHUNK_SLOTS, DamagedRow, overlay, placeOfRow, type RowSlots } from "./chunks.js";
import { journalTable, type PlacedSlots, PointRecord } from "./journal-table.js";
import { Memtable } from "./memtable.js";

/** Size of the journal in the file at which it is folded, bytes. */
const FOLD_BYTES = 16 * 1024 * 1024;

/** Multiple of `FOLD_BYTES` in memory at which the journal is folded. */
const MEMORY_FACTOR = 3;
/** Multiple of either size at which writers wait. */
const WAIT_FACTOR = 2;

/** Interval of folds, ms. */
const FOLD_EVERY_MS = 60_000;

/** Rows of `chunk` written in one transaction; other requests run in between. */
const FOLDED_AT_ONCE = 200;

/** Maximum damaged rows that a fold skips; their slots stay in the journal. */
const MAX_DAMAGED = 1_000;

export interface JournalOptions {
  readonly failpoint?: Failpoint | undefined;
  /** Size at which the journal is folded, bytes. */
  readonly foldBytes?: number;
  /** Receives the error of a fold in the background. The fold is retried. */
  foldFailed?(error: unknown): void;
  /** Called once for each damaged row of `chunk` found by a fold or a read. */
  damaged?(error: DamagedRow): void;
}

/** Records of the journal that are folded together: their slots in memory and their size in bytes. */
interface RecordBatch {
  readonly slots: Memtable;
  bytes: number;
  /** Id of the newest record; 0 if there is none. */
  last: number;
}

/**
 * The journal of `metrics.db`, with its content in memory. `append` returns once a record is in the file and in memory.
 * A fold in the background later merges the slots into `chunk`, row by row, and removes the records.
 *
 * It is the memtable of a log-structured merge tree (O'Neil et al., "The log-structured merge-tree", 1996), and the
 * open block of Gorilla (Pelkonen et al., VLDB 2015), for slots at known positions: folding overwrites, so it needs no
 * merge of sorted runs and is repeatable.
 */
export class Journal {
  readonly #db: Database;
  readonly #lists: ChunkLists;
  readonly #failpoint: Failpoint;
  readonly #foldBytes: number;
  readonly #foldFailed: (error: unknown) => void;
  readonly #damaged: (error: DamagedRow) => void;
  /** Messages of damaged rows that were reported. */
  readonly #reported = new Set<string>();
  readonly #table;
  readonly #writeChunk;
  /** Receives new records; `#folding` is being folded. */
  #open: RecordBatch;
  #folding: RecordBatch | undefined;
  /** Id of the newest record that was folded and removed. */
  #foldedTo = 0;
  /** The running fold. */
  #running: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  /** Reads the whole journal into memory: a second or two for a full one. */
  constructor(
    db: Database,
    lists: ChunkLists,
    { failpoint = noFailpoint, foldBytes = FOLD_BYTES, foldFailed = () => {}, damaged = () => {} }: JournalOptions,
  ) {
    this.#db = db;
    this.#lists = lists;
    this.#failpoint = failpoint;
    this.#foldBytes = foldBytes;
    this.#foldFailed = foldFailed;
    this.#damaged = damaged;
    this.#table = journalTable(db);
    this.#writeChunk = chunkWriter(db, lists);
    this.#open = emptyBatch();
    for (const { id, record } of this.#table.all()) add(this.#open, id, record);
    this.#timer = setInterval(() => this.#foldInBackground(), FOLD_EVERY_MS).unref();
  }

  /**
   * Stores the record that `work` returns, together with its other writes, in one transaction. Throws the errors of
   * `work` and SQLite; then nothing is stored.
   */
  append(work: () => PointRecord | undefined): void {
    const appended = inTransaction(this.#db, () => {
      const record = work();
      return record && { record, id: this.#table.append(record) };
    });
    this.#failpoint("journal-appended");
    if (appended === undefined) return;
    add(this.#open, appended.id, appended.record);
    if (sizeOf(this.#open) > this.#foldBytes) this.#foldInBackground();
  }

  /** Returns whether there are slots of a series (its id). */
  has(series: number): boolean {
    return this.#open.slots.has(series) || this.#folding?.slots.has(series) === true;
  }

  /** Returns the rows of a series (its id). If two rows have a value for a slot, the later row takes precedence. */
  rows(series: number): readonly RowSlots[] {
    const newer = this.#open.slots.rows(series);
    const older = this.#folding?.slots.rows(series) ?? [];
    return older.length === 0 ? newer : [...older, ...newer];
  }

  /** Resolves when there is room for another record. Rejects with the error that prevents a fold. */
  async waitForRoom(): Promise<void> {
    while (sizeOf(this.#open) + sizeOf(this.#folding) > WAIT_FACTOR * this.#foldBytes) await this.#runFold();
  }

  /**
   * Resolves when all records appended before the call are in `chunk` and removed from the journal. Rejects with
   * SQLite's error.
   */
  async fold(): Promise<void> {
    const last = Math.max(this.#open.last, this.#folding?.last ?? 0);
    while (this.#foldedTo < last) await this.#runFold();
  }

  /** Stops background work between two transactions; unfolded slots stay in the journal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running?.catch(() => {});
  }

  /** Starts a fold, unless one is running. */
  #foldInBackground(): void {
    if (this.#running !== undefined || this.#isClosed) return;
    this.#runFold().catch((error: unknown) => {
      if (!this.#isClosed) this.#foldFailed(error);
    });
  }

  /** Returns the running fold, or starts one. A failure changes nothing. */
  #runFold(): Promise<void> {
    this.#running ??= this.#foldBatch().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * Each transaction folds a few rows; the records are removed after the last one. Slots of damaged rows are appended
   * again before that. If the process dies in between, the next start folds all of them again, with the same result: a
   * record overwrites slots, and no write to these series bypasses the journal while `has` is true.
   */
  async #foldBatch(): Promise<void> {
    if (this.#folding === undefined) {
      if (this.#open.last === 0) return;
      this.#folding = this.#open;
      this.#open = emptyBatch();
    }
    const { slots, last } = this.#folding;
    const damaged: RowSlots[] = [];
    for (const rows of weightedBatches(slots.all(), FOLDED_AT_ONCE)) {
      this.#lists.changing(() => {
        for (const row of rows) if (!this.#foldRow(row, damaged.length < MAX_DAMAGED)) damaged.push(row);
      });
      this.#failpoint("journal-folded-some");
      await this.#pause();
    }
    if (damaged.length > 0) this.append(() => PointRecord.of(damaged.map((row) => this.#newest(row))));
    this.#failpoint("journal-folded");
    this.#table.remove(last);
    this.#folding = undefined;
    this.#foldedTo = Math.max(this.#foldedTo, last);
  }

  /** Returns false if the row of `chunk` is damaged; throws unless `mayBeDamaged`. */
  #foldRow({ row, first, slots }: RowSlots, mayBeDamaged: boolean): boolean {
    try {
      this.#writeChunk(row, slots, first);
      return true;
    } catch (error) {
      if (!(error instanceof DamagedRow) || !mayBeDamaged) throw error;
      this.report(error);
      return false;
    }
  }

  /** Reports a damaged row of `chunk` once. */
  report(error: DamagedRow): void {
    if (this.#reported.has(error.message)) return;
    this.#reported.add(error.message);
    this.#damaged(error);
  }

  /**
   * Returns all slots of the journal for a row that is being folded, including newer records: the next start reads it
   * after them.
   */
  #newest({ row, first, slots }: RowSlots): PlacedSlots {
    const place = placeOfRow(row);
    const values = new Float64Array(CHUNK_SLOTS).fill(Number.NaN);
    overlay(slots, values, first);
    for (const newer of this.#open.slots.rows(place.series)) {
      if (newer.row === row) overlay(newer.slots, values, newer.first);
    }
    return { ...place, values, start: 0, end: values.length };
  }

  /** Lets other requests run. Rejects if the store was closed in between, which ends the fold. */
  async #pause(): Promise<void> {
    await setImmediate();
    if (this.#isClosed) throw new Error("metrics.db was closed");
  }
}

function emptyBatch(): RecordBatch {
  return { slots: new Memtable(), bytes: 0, last: 0 };
}

function add(batch: RecordBatch, id: number, record: PointRecord): void {
  record.each(batch.slots.add);
  batch.bytes += record.byteLength;
  batch.last = id;
}

function sizeOf(batch: RecordBatch | undefined): number {
  return batch === undefined ? 0 : Math.max(batch.bytes, batch.slots.bytes / MEMORY_FACTOR);
}
