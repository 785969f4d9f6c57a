import type { RuledSegment } from "../catalogue/ports.js";
import { leavesOf, type Rule } from "./rule.js";

/** Segment by rule, as far as decisions need it. */
export interface DecidedSegment {
  readonly id: string;
  readonly table: string;
  readonly rule: Rule;
}

/** Returns the segment as its decisions need it. */
export function decidedSegment({ id, table, byRule }: RuledSegment): DecidedSegment {
  return { id, table, rule: byRule.rule as Rule };
}

/** Returns the ids of the segments that a rule names, with their paths in errors. */
export function segmentsIn(rule: Rule): { readonly id: string; readonly path: string }[] {
  return [...leavesOf(rule)].flatMap(({ leaf, path }) =>
    "segment" in leaf ? [{ id: leaf.segment, path: `${path}.segment` }] : [],
  );
}

/**
 * Returns the number of segments by rule in the longest chain that ends at each segment by rule: one more than the
 * longest of the segments that its rule names. Infinity for a segment that depends on itself.
 */
export function chainLengths(rules: readonly DecidedSegment[]): ReadonlyMap<string, number> {
  const named = new Map(rules.map(({ id, rule }) => [id, segmentsIn(rule)]));
  const lengths = new Map<string, number>();
  const lengthOf = (id: string): number => {
    const segments = named.get(id);
    if (segments === undefined) return 0;
    const known = lengths.get(id);
    if (known !== undefined) return known;
    lengths.set(id, Number.POSITIVE_INFINITY);
    const length = 1 + Math.max(0, ...segments.map((segment) => lengthOf(segment.id)));
    lengths.set(id, length);
    return length;
  };
  for (const { id } of rules) lengthOf(id);
  return lengths;
}
