import { setImmediate } from "node:timers/promises";
import { type Failpoint, noFailpoint } from "../../failpoint.js";
import { CHUNK_SLOTS, chunkWriter, DamagedRow, layValues, placeOfRow, type RowSlots } from "./chunks.js";
import { type Database, inTransaction } from "./connection.js";
import { journalTable, type PlacedSlots, PointRecord } from "./journal-table.js";
import { Memtable } from "./memtable.js";

/** The journal is folded when it takes so many bytes in the file, or a multiple of that in memory. */
const FOLD_BYTES = 16 * 1024 * 1024;
const IN_MEMORY = 3;
/** Writers wait while it takes so many times as much. */
const MOST_FOLDS = 2;

/** Slots are folded this long after the first of them was written, ms. */
const FOLD_AFTER_MS = 60_000;

/** Rows of `chunk` that are written in one transaction: other requests run in between. */
const FOLDED_AT_ONCE = 200;

/** Damaged rows without which a fold goes on, at most: their slots stay in the journal. */
const MOST_DAMAGED = 1_000;

export interface JournalOptions {
  readonly failpoint?: Failpoint | undefined;
  /** How much the journal holds before it is folded, bytes. */
  readonly foldBytes?: number;
  /** Is given what a fold in the background failed with. It is tried again. */
  foldFailed?(error: unknown): void;
  /** Is called once for each damaged row of `chunk` that a fold or a read found. */
  damaged?(error: DamagedRow): void;
}

/** Records of the journal that belong together: in memory what they say, and how many bytes they take. */
interface Generation {
  readonly slots: Memtable;
  bytes: number;
  /** Ids of the oldest and the newest record; `first` is above any id where there is none. */
  first: number;
  last: number;
}

/**
 * The journal of `metrics.db`, with what it says in memory. A record is in the file and in memory when `append` returns. Many slots of a row
 * of `chunk` are later folded into it at once, in the background, and the records removed.
 *
 * It is the memory table of a log-structured merge tree (O'Neil et al., "The log-structured merge-tree", 1996), and the open block of Gorilla (Pelkonen et
 * al., VLDB 2015), for slots whose place is known: folding overwrites, so that it needs no merge of sorted runs and may be repeated.
 */
export class Journal {
  readonly #db: Database;
  readonly #failpoint: Failpoint;
  readonly #foldBytes: number;
  readonly #foldFailed: (error: unknown) => void;
  readonly #damaged: (error: DamagedRow) => void;
  /** Damaged rows that `damaged` was called with. */
  readonly #told = new Set<number>();
  readonly #table;
  readonly #writeChunk;
  /** What new records go to, and what is being folded. */
  #open: Generation;
  #folding: Generation | undefined;
  /** The fold that is under way. */
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Reads the whole journal into memory: a second or two where it holds as much as it may. */
  constructor(
    db: Database,
    { failpoint = noFailpoint, foldBytes = FOLD_BYTES, foldFailed = () => {}, damaged = () => {} }: JournalOptions,
  ) {
    this.#db = db;
    this.#failpoint = failpoint;
    this.#foldBytes = foldBytes;
    this.#foldFailed = foldFailed;
    this.#damaged = damaged;
    this.#table = journalTable(db);
    this.#writeChunk = chunkWriter(db);
    this.#open = emptyGeneration();
    for (const { id, record } of this.#table.all()) add(this.#open, id, record);
    this.#foldLater();
  }

  /** Keeps the record that `work` makes inside a transaction, with all else that it does there. Throws as `work` and SQLite do; nothing is kept then. */
  append(work: () => PointRecord | undefined): void {
    const kept = inTransaction(this.#db, () => {
      const record = work();
      return record && { record, id: this.#table.append(record) };
    });
    this.#failpoint("journal-appended");
    if (kept === undefined) return;
    add(this.#open, kept.id, kept.record);
    this.#foldLater();
  }

  /** Whether there is something of a series (its id). */
  has(series: number): boolean {
    return this.#open.slots.has(series) || this.#folding?.slots.has(series) === true;
  }

  /** What there is of a series (its id): of two values of a slot the one of the later row holds. */
  rows(series: number): readonly RowSlots[] {
    const newer = this.#open.slots.rows(series);
    const older = this.#folding?.slots.rows(series) ?? [];
    return older.length === 0 ? newer : [...older, ...newer];
  }

  /** Resolves when there is room for another record. Rejects with what keeps the journal from being folded. */
  async room(): Promise<void> {
    while (sizeOf(this.#open) + sizeOf(this.#folding) > MOST_FOLDS * this.#foldBytes) await this.#runFold();
  }

  /** Resolves when all that was appended before the call is in `chunk` and no longer in the journal. Rejects with what SQLite says. */
  async fold(): Promise<void> {
    const last = Math.max(this.#open.last, this.#folding?.last ?? 0);
    while (isBegunBy(this.#folding, last) || isBegunBy(this.#open, last)) await this.#runFold();
  }

  /** Ends the work in the background between two transactions; what is not folded stays in the journal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => {});
  }

  /** Folds in the background: at once where the journal is large, otherwise when its time is over. */
  #foldLater(): void {
    if (this.#isClosed || this.#running !== undefined) return;
    if (sizeOf(this.#open) > this.#foldBytes) this.#foldInBackground();
    else if (this.#folding !== undefined || this.#open.last > 0) this.#foldInTime();
  }

  #foldInTime(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#running === undefined) this.#foldInBackground();
    }, FOLD_AFTER_MS).unref();
  }

  #foldInBackground(): void {
    this.#runFold().catch((error: unknown) => {
      if (!this.#isClosed) this.#foldFailed(error);
    });
  }

  /** The fold that is under way, or another one. When it fails everything stays as it was. */
  #runFold(): Promise<void> {
    this.#running ??= this.#foldGeneration().then(
      () => {
        this.#running = undefined;
        this.#foldLater();
      },
      (error: unknown) => {
        this.#running = undefined;
        if (!this.#isClosed) this.#foldInTime();
        throw error;
      },
    );
    return this.#running;
  }

  /**
   * Each transaction folds a few rows; the records are removed after the last. What is said of damaged rows is appended anew before that. A process that dies in between folds all of them again, to the same end:
   * a record overwrites slots, and nothing else writes to these series past the journal as long as `has` says so.
   */
  async #foldGeneration(): Promise<void> {
    if (this.#folding === undefined) {
      this.#folding = this.#open;
      this.#open = emptyGeneration();
    }
    const { slots, last } = this.#folding;
    const damaged: RowSlots[] = [];
    for (const rows of slots.inBatches(FOLDED_AT_ONCE)) {
      inTransaction(this.#db, () => {
        for (const row of rows) if (!this.#foldRow(row, damaged.length < MOST_DAMAGED)) damaged.push(row);
      });
      this.#failpoint("journal-folded-some");
      await this.#pause();
    }
    if (damaged.length > 0) this.append(() => PointRecord.of(damaged.map((row) => this.#newest(row))));
    this.#failpoint("journal-folded");
    while (this.#table.removeSome(last)) {
      this.#failpoint("journal-removed-some");
      await this.#pause();
    }
    this.#folding = undefined;
  }

  /** False when the row of `chunk` is damaged, which is thrown unless `mayBeDamaged`. */
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

  /** Reports a damaged row of `chunk`, unless it was reported before. */
  report(error: DamagedRow): void {
    if (this.#told.has(error.row)) return;
    this.#told.add(error.row);
    this.#damaged(error);
  }

  /** All that the journal says of a row that is being folded, newer records included: as one of the newest it is read after them at the next start. */
  #newest({ row, first, slots }: RowSlots): PlacedSlots {
    const place = placeOfRow(row);
    const values = new Float64Array(CHUNK_SLOTS).fill(Number.NaN);
    layValues(slots, values, first);
    for (const newer of this.#open.slots.rows(place.series)) {
      if (newer.row === row) layValues(newer.slots, values, newer.first);
    }
    return { ...place, values };
  }

  /** Lets other requests run. Rejects when the store was closed meanwhile, which ends the fold. */
  async #pause(): Promise<void> {
    await setImmediate();
    if (this.#isClosed) throw new Error("metrics.db was closed");
  }
}

function emptyGeneration(): Generation {
  return { slots: new Memtable(), bytes: 0, first: Number.POSITIVE_INFINITY, last: 0 };
}

/** Whether there are records up to this id. */
function isBegunBy(generation: Generation | undefined, id: number): boolean {
  return generation !== undefined && generation.first <= id;
}

function add(generation: Generation, id: number, record: PointRecord): void {
  generation.slots.add(record);
  generation.bytes += record.byteLength;
  generation.first = Math.min(generation.first, id);
  generation.last = id;
}

function sizeOf(generation: Generation | undefined): number {
  return generation === undefined ? 0 : Math.max(generation.bytes, generation.slots.bytes / IN_MEMORY);
}
