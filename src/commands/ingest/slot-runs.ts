import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Slot } from "./slot-table.js";

/** Numbers of one slot in the file: key, value, ms, origin. */
const NUMBERS = 4;
const BYTES = NUMBERS * 8;

/** Slots that are written or read at once. */
const BATCH = 2048;

/** Sorted runs of slots in one temporary file, which nobody else sees and which goes away with the process. */
export class SlotRuns {
  #file: number | undefined;
  #bytes = 0;
  readonly #runs: { readonly from: number; readonly to: number }[] = [];

  get count(): number {
    return this.#runs.length;
  }

  /** Writes slots, in the order of their keys, as one more run. */
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

  /** The slots of each run, in the order of the runs. */
  readers(): Generator<Slot>[] {
    return this.#runs.map(({ from, to }) => this.#read(from, to));
  }

  close(): void {
    if (this.#file === undefined) return;
    ftruncateSync(this.#file);
    closeSync(this.#file);
    this.#file = undefined;
  }

  #write(numbers: Float64Array): void {
    this.#file ??= openHidden();
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done, this.#bytes + done);
    }
    this.#bytes += bytes.length;
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

/** An open file whose name is gone already, where the system allows that. */
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
