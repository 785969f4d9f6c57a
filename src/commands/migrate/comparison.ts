import type { Summary } from "./checksum.js";

/** What was found of one part on both sides. */
export interface Comparison {
  readonly part: string;
  readonly source: Summary;
  readonly target: Summary;
}

export function isEqual({ source, target }: Comparison): boolean {
  return source.count === target.count && source.checksum === target.checksum;
}

/** A line for each part. */
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
