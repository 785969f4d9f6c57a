import type { NamedSeries } from "../../metrics/writable-points.js";

/** Maximum heads, and bytes of one. */
const MOST = 100_000;
const LONGEST = 512;

/** Series, with sources, by the bytes with which a point begins: its head. A writer repeats the heads of its series. */
export class SeriesHeads {
  /** Heads as text in Latin-1, one character per byte. Small buffers would retain blocks of shared memory. */
  readonly #heads = new Map<string, NamedSeries>();

  /** Returns the series of the head in the bytes [start, end); undefined if it is not stored. */
  find(bytes: Buffer, start: number, end: number): NamedSeries | undefined {
    return end - start > LONGEST ? undefined : this.#heads.get(bytes.toString("latin1", start, end));
  }

  /** Stores the series of the head in the bytes [start, end). */
  add(bytes: Buffer, start: number, end: number, named: NamedSeries): void {
    if (end - start > LONGEST) return;
    if (this.#heads.size >= MOST) this.#heads.clear();
    this.#heads.set(bytes.toString("latin1", start, end), named);
  }
}
