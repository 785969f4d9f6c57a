import { setImmediate } from "node:timers/promises";
import type { Failpoint } from "../../failpoint.js";
import { chunkWriter } from "./chunks.js";
import { type Database, inTransaction } from "./connection.js";
import { type PointRecord, pointJournal } from "./point-journal.js";
import { type UnfoldedRow, UnfoldedSlots } from "./unfolded-slots.js";

/** Slots are folded when they take so much memory, or so many bytes of the journal; writers wait when it is WAIT times as much. */
const FOLD_BYTES = 16 * 1024 * 1024;
const WAIT = 2;

/** Slots are folded this long after the first of them was written, ms. */
const FOLD_AFTER_MS = 60_000;

/** Rows of `chunk` that are written in one transaction: other requests run in between. */
const FOLDED_AT_ONCE = 200;

/** Records of the journal that belong together: in memory what they say, and how many bytes they take. */
interface Generation {
  readonly slots: UnfoldedSlots;
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
export class JournaledSlots {
  readonly #db: Database;
  readonly #failpoint: Failpoint;
  readonly #foldBytes: number;
  readonly #journal;
  readonly #writeChunk;
  /** What new records go to, and what is being folded. */
  #open: Generation;
  #folding: Generation | undefined;
  #fold: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Reads the whole journal into memory, in a second at most. */
  constructor(db: Database, failpoint: Failpoint, foldBytes = FOLD_BYTES) {
    this.#db = db;
    this.#failpoint = failpoint;
    this.#foldBytes = foldBytes;
    this.#journal = pointJournal(db);
    this.#writeChunk = chunkWriter(db);
    this.#open = emptyGeneration();
    for (let found = this.#journal.after(0); found.length > 0; found = this.#journal.after(this.#open.last)) {
      for (const { id, record } of found) add(this.#open, id, record);
    }
    this.#foldLater();
  }

  /** Keeps the record that `work` makes inside a transaction, with all else that it does there. Throws as `work` and SQLite do; nothing is kept then. */
  append(work: () => PointRecord | undefined): void {
    const kept = inTransaction(this.#db, () => {
      const record = work();
      return record && { record, id: this.#journal.append(record) };
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
  rows(series: number): readonly UnfoldedRow[] {
    const newer = this.#open.slots.rows(series);
    const older = this.#folding?.slots.rows(series) ?? [];
    return older.length === 0 ? newer : [...older, ...newer];
  }

  /** Resolves when there is room for another record. Rejects with what keeps the journal from being folded. */
  async room(): Promise<void> {
    while (sizeOf(this.#open) + sizeOf(this.#folding) > WAIT * this.#foldBytes) await this.#foldOnce();
  }

  /** Resolves when all that was appended before the call is in `chunk` and no longer in the journal. Rejects with what SQLite says. */
  async fold(): Promise<void> {
    const { last } = this.#open;
    while (this.#folding !== undefined || this.#open.first <= last) await this.#foldOnce();
  }

  /** Ends the work in the background between two transactions; what is not folded stays in the journal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#fold?.catch(() => {});
  }

  #foldLater(): void {
    if (sizeOf(this.#open) > this.#foldBytes) this.#foldInBackground();
    else if (this.#open.first <= this.#open.last) this.#foldInTime();
  }

  #foldInTime(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => this.#foldInBackground(), FOLD_AFTER_MS).unref();
  }

  /** When it fails everything stays as it was, and the next append, or the timer, tries again. */
  #foldInBackground(): void {
    if (this.#isClosed || this.#fold !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#foldOnce().then(
      () => this.#foldLater(),
      () => this.#foldInTime(),
    );
  }

  /** The fold that is under way, or another one. */
  #foldOnce(): Promise<void> {
    this.#fold ??= this.#foldGeneration().finally(() => {
      this.#fold = undefined;
    });
    return this.#fold;
  }

  /**
   * Each transaction folds a few rows; the records are removed after the last. A process that dies in between folds all of them again, to the same end:
   * a record overwrites slots, and nothing else writes to these series past the journal as long as `has` says so.
   */
  async #foldGeneration(): Promise<void> {
    if (this.#folding === undefined) {
      this.#folding = this.#open;
      this.#open = emptyGeneration();
    }
    const { slots, last } = this.#folding;
    for (const rows of slots.inBatches(FOLDED_AT_ONCE)) {
      inTransaction(this.#db, () => {
        for (const { row, first, slots: values } of rows) this.#writeChunk(row, values, first);
      });
      this.#failpoint("journal-folded-some");
      await this.#letOthersRun();
    }
    this.#failpoint("journal-folded");
    while (this.#journal.removeSome(last)) {
      this.#failpoint("journal-removed-some");
      await this.#letOthersRun();
    }
    this.#folding = undefined;
  }

  async #letOthersRun(): Promise<void> {
    await setImmediate();
    if (this.#isClosed) throw new Error("metrics.db was closed");
  }
}

function emptyGeneration(): Generation {
  return { slots: new UnfoldedSlots(), bytes: 0, first: Number.POSITIVE_INFINITY, last: 0 };
}

function add(generation: Generation, id: number, record: PointRecord): void {
  generation.slots.add(record);
  generation.bytes += record.byteLength;
  generation.first = Math.min(generation.first, id);
  generation.last = id;
}

function sizeOf(generation: Generation | undefined): number {
  return generation === undefined ? 0 : Math.max(generation.bytes, generation.slots.bytes);
}
