import { SlotRuns } from "./slot-runs.js";
import { type Folding, type Slot, SlotTable, seriesOfKey, slotKey } from "./slot-table.js";

/** Places of the table in memory: 64 MB. */
const CAPACITY = 2 ** 21;

/**
 * Folds values into slots, whatever their order and number: what does not fit into a table in memory lies in sorted runs on
 * disk, and the runs are merged when the slots are asked for.
 */
export class SlotFold {
  readonly #table: SlotTable;
  readonly #runs = new SlotRuns();
  /** How the values of each series fold, by its number. */
  readonly #foldings: readonly Folding[];
  #spilled = 0;

  constructor(foldings: readonly Folding[], capacity = CAPACITY) {
    this.#foldings = foldings;
    this.#table = new SlotTable(capacity);
  }

  /** Slots so far; more than there are in the end when runs on disk share some. */
  get count(): number {
    return this.#spilled + this.#table.count;
  }

  add(series: number, slot: number, value: number, ms: number, origin: number): void {
    if (this.#table.full) this.#spill();
    this.#table.add(slotKey(series, slot), value, ms, origin, this.#foldings[series] as Folding);
  }

  /** Every slot once, by series, then by time. The same object each time; nothing may be added any more. */
  *slots(): Generator<Slot> {
    if (this.#runs.count === 0) {
      yield* this.#table.slots();
      return;
    }
    this.#spill();
    let open: Slot | undefined;
    for (const slot of merged(this.#runs.readers())) {
      if (open?.key === slot.key) {
        this.#unite(open, slot);
        continue;
      }
      if (open !== undefined) yield open;
      open = { ...slot };
    }
    if (open !== undefined) yield open;
  }

  close(): void {
    this.#runs.close();
  }

  #spill(): void {
    this.#runs.add(this.#table.slots());
    this.#spilled += this.#table.count;
    this.#table.clear();
  }

  /** Folds a slot of a later run into the same slot of earlier ones. */
  #unite(known: Slot, later: Slot): void {
    const folding = this.#foldings[seriesOfKey(known.key)];
    if (folding === "sum") known.value += later.value;
    else if (folding === "max") known.value = Math.max(known.value, later.value);
    else if (folding === "min") known.value = Math.min(known.value, later.value);
    else if (later.ms >= known.ms) known.value = later.value;
    if (later.ms < known.ms) return;
    known.ms = later.ms;
    known.origin = later.origin;
  }
}

interface Head {
  readonly run: number;
  readonly rest: Generator<Slot>;
  slot: Slot;
}

/** Sorted runs as one; of equal keys the earlier run's comes first. By a heap of the runs' next slots. */
function* merged(runs: readonly Generator<Slot>[]): Generator<Slot> {
  const heap: Head[] = [];
  runs.forEach((rest, run) => {
    const first = rest.next();
    if (!first.done) heap.push({ run, rest, slot: first.value });
  });
  for (let at = (heap.length >> 1) - 1; at >= 0; at -= 1) sink(heap, at);
  while (heap[0] !== undefined) {
    yield heap[0].slot;
    const next = heap[0].rest.next();
    if (!next.done) heap[0].slot = next.value;
    else {
      const last = heap.pop() as Head;
      if (heap.length > 0) heap[0] = last;
    }
    sink(heap, 0);
  }
}

function sink(heap: Head[], from: number): void {
  for (let at = from; ; ) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && before(heap[child] as Head, heap[least] as Head)) least = child;
    }
    if (least === at) return;
    [heap[at], heap[least]] = [heap[least] as Head, heap[at] as Head];
    at = least;
  }
}

function before(a: Head, b: Head): boolean {
  return a.slot.key !== b.slot.key ? a.slot.key < b.slot.key : a.run < b.run;
}
