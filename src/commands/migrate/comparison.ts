import { createHash } from "node:crypto";

/** Contents of one part on both sides. */
export interface Comparison {
  readonly part: string;
  readonly source: Summary;
  readonly target: Summary;
}

export function isEqual({ source, target }: Comparison): boolean {
  return source.count === target.count && source.checksum === target.checksum;
}

/** Formats one line per part. */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const lines = comparisons.map((comparison) => [
    comparison.part,
    String(comparison.source.count),
    String(comparison.target.count),
    comparison.source.checksum,
    isEqual(comparison) ? "equal" : `DIFFERS: ${comparison.target.checksum}`,
  ]);
  const table = [["part", "source", "target", "checksum", ""], ...lines];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  return table
    .map((line) =>
      line
        .map((cell, i) => (i === 1 || i === 2 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Number of items and a checksum that does not depend on their order. */
export interface Summary {
  readonly count: number;
  /** 32 hex characters. */
  readonly checksum: string;
}

/** Sum, modulo 2^128, of the digests of all items. */
export class Checksum {
  #count = 0;
  #sum = 0n;

  /** Adds a record. The digest does not depend on the order of its fields. */
  addRecord(record: unknown): void {
    this.#add(canonical(record), 1);
  }

  /** Adds saved values, of which `count` are not NaN. */
  addValues(name: string, values: Float64Array, count: number): void {
    // Normalizes the representations of NaN and zero.
    const plain = values.map((value) => (Number.isNaN(value) ? Number.NaN : value + 0));
    this.#add(name, count, new Uint8Array(plain.buffer));
  }

  get summary(): Summary {
    return { count: this.#count, checksum: this.#sum.toString(16).padStart(32, "0") };
  }

  #add(text: string, count: number, bytes: Uint8Array = new Uint8Array()): void {
    const digest = createHash("sha256").update(text).update(bytes).digest("hex");
    this.#sum = BigInt.asUintN(128, this.#sum + BigInt(`0x${digest.slice(0, 32)}`));
    this.#count += count;
  }
}

/** Returns JSON with sorted names, bytes as hex, maps as objects and without undefined fields. */
export function canonical(value: unknown): string {
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString("hex"));
  if (value instanceof Map) return canonical(Object.fromEntries(value));
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`;
}
