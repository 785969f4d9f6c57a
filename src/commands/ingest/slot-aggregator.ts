import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Aggregation, aggregated, type Slot, SlotTable, seriesOfKey, slotKey } from "./slot-table.js";

/** Entries of the table in memory: 64 MB. */
const CAPACITY = 2 ** 21;

/**
 * Aggregates any number of values in any order into slots. Values that exceed a table in memory are spilled to sorted
 * runs on disk, which are merged on reading.
 */
export class SlotAggregator {
  readonly #table: SlotTable;
  readonly #runs = new SlotRuns();
  /** Aggregation of each series, by its number. */
  readonly #aggregations: readonly Aggregation[];
  #spilled = 0;

  constructor(aggregations: readonly Aggregation[], capacity = CAPACITY) {
    this.#aggregations = aggregations;
    this.#table = new SlotTable(capacity);
  }

  /** Slots so far; counts slots that several runs share more than once. */
  get count(): number {
    return this.#spilled + this.#table.count;
  }

  add(series: number, slot: number, value: number, ms: number, origin: number): void {
    if (this.#table.full) this.#spill();
    this.#table.add(slotKey(series, slot), value, ms, origin, this.#aggregations[series] as Aggregation);
  }

  /** Yields every slot once, by series, then by time, in one reused object. No values may be added afterwards. */
  *slots(): Generator<Slot> {
    if (this.#runs.count === 0) {
      yield* this.#table.slots();
      return;
    }
    this.#spill();
    const heads = this.#runs.readers().map((rest) => ({ rest, slot: nextOf(rest) }));
    // Scans all runs for each slot: runs have over a million slots, so there are few.
    for (let key = leastOf(heads); key < END.key; key = leastOf(heads)) {
      let open: Slot | undefined;
      for (const head of heads) {
        if (head.slot.key !== key) continue;
        if (open === undefined) open = { ...head.slot };
        else this.#merge(open, head.slot);
        head.slot = nextOf(head.rest);
      }
      if (open !== undefined) yield open;
    }
  }

  close(): void {
    this.#runs.close();
  }

  #spill(): void {
    this.#runs.add(this.#table.slots());
    this.#spilled += this.#table.count;
    this.#table.clear();
  }

  /** Merges a slot of a later run into the same slot of earlier runs. */
  #merge(known: Slot, later: Slot): void {
    const isLater = later.ms >= known.ms;
    known.value = aggregated(
      this.#aggregations[seriesOfKey(known.key)] as Aggregation,
      known.value,
      later.value,
      isLater,
    );
    if (!isLater) return;
    known.ms = later.ms;
    known.origin = later.origin;
  }
}

/** Sorts after the last slot of a run. */
const END: Slot = { key: Number.POSITIVE_INFINITY, value: 0, ms: 0, origin: 0 };

function nextOf(run: Generator<Slot>): Slot {
  const { value, done } = run.next();
  return done ? END : value;
}

function leastOf(heads: readonly { readonly slot: Slot }[]): number {
  let least = END.key;
  for (const { slot } of heads) if (slot.key < least) least = slot.key;
  return least;
}

/** Numbers of one slot in the file: key, value, ms, origin. */
const NUMBERS = 4;
const BYTES = NUMBERS * 8;

/** Slots per disk read or write. */
const BATCH = 2048;

/** Sorted runs of slots in one temporary file, which is private and deleted with this process. */
class SlotRuns {
  #file: number | undefined;
  #bytes = 0;
  readonly #runs: { readonly from: number; readonly to: number }[] = [];

  get count(): number {
    return this.#runs.length;
  }

  /** Writes slots, ordered by key, as a new run. */
  add(slots: Iterable<Slot>): void {
    const from = this.#bytes;
    const batch = new Float64Array(BATCH * NUMBERS);
    let filled = 0;
    for (const slot of slots) {
      batch[filled] = slot.key;
      batch[filled + 1] = slot.value;
      batch[filled + 2] = slot.ms;
      batch[filled + 3] = slot.origin;
      filled += NUMBERS;
      if (filled < batch.length) continue;
      this.#write(batch);
      filled = 0;
    }
    this.#write(batch.subarray(0, filled));
    this.#runs.push({ from, to: this.#bytes });
  }

  /** Returns a reader per run, in the order of the runs. */
  readers(): Generator<Slot>[] {
    return this.#runs.map(({ from, to }) => this.#read(from, to));
  }

  close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
  }

  #write(numbers: Float64Array): void {
    this.#file ??= openHidden();
    writeFileSync(this.#file, numbers);
    this.#bytes += numbers.byteLength;
  }

  *#read(from: number, to: number): Generator<Slot> {
    const slot: Slot = { key: 0, value: 0, ms: 0, origin: 0 };
    const batch = new Float64Array(BATCH * NUMBERS);
    const bytes = new Uint8Array(batch.buffer);
    for (let at = from; at < to; ) {
      const wanted = Math.min(bytes.length, to - at);
      for (let done = 0; done < wanted; ) done += readSync(this.#file as number, bytes, done, wanted - done, at + done);
      for (let i = 0; i < wanted / 8; i += NUMBERS) {
        slot.key = batch[i] as number;
        slot.value = batch[i + 1] as number;
        slot.ms = batch[i + 2] as number;
        slot.origin = batch[i + 3] as number;
        yield slot;
      }
      at += wanted - (wanted % BYTES);
    }
  }
}

/** Opens a temporary file and unlinks it at once where the system allows that. */
function openHidden(): number {
  const folder = mkdtempSync(join(tmpdir(), "entity-metrics-ingest-"));
  const file = openSync(join(folder, "slots"), "w+", 0o600);
  try {
    rmSync(folder, { recursive: true });
  } catch {
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  }
  return file;
}
