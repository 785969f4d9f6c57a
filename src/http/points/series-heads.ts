import type { NamedSeries } from "../../metrics/writable-points.js";

/** Maximum heads, and bytes of one. */
const MOST = 100_000;
const LONGEST = 512;

/** Initial value and factor of FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Series, with sources, by the bytes with which a point begins: its head. A writer repeats the heads of its series. */
export class SeriesHeads {
  /** Heads by hash. A head replaces another one with the same hash. */
  readonly #heads = new Map<number, { readonly bytes: Buffer; readonly named: NamedSeries }>();

  /** Returns the series of the head in the bytes [start, end); undefined if it is not stored. */
  find(bytes: Buffer, start: number, end: number): NamedSeries | undefined {
    const head = this.#heads.get(hashOf(bytes, start, end));
    if (head === undefined || head.bytes.length !== end - start) return undefined;
    for (let i = 0; i < head.bytes.length; i += 1) if (head.bytes[i] !== bytes[start + i]) return undefined;
    return head.named;
  }

  /** Stores the series of the head in the bytes [start, end). */
  add(bytes: Buffer, start: number, end: number, named: NamedSeries): void {
    if (end - start > LONGEST) return;
    if (this.#heads.size >= MOST) this.#heads.clear();
    // A copy: a part of a body would keep all of it in memory.
    this.#heads.set(hashOf(bytes, start, end), { bytes: Buffer.from(bytes.subarray(start, end)), named });
  }
}

function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = FNV_BASIS;
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  return hash;
}
