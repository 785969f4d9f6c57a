import { type CatalogueStore, MAX_MARKS, type MarkStore, type SegmentRules } from "../catalogue/ports.js";
import { conflict, invalid } from "../errors.js";
import { randomId } from "../ids.js";
import { checkRules } from "./check-rules.js";
import { type DecidedSegment, decidedSegment, segmentsIn } from "./decided-segment.js";

export interface RuleDependencies {
  readonly catalogue: Pick<CatalogueStore, "rules" | "segmentsById" | "putRule">;
  readonly marks: Pick<MarkStore, "putMark">;
}

/**
 * Adds the segment by rule, or changes its name and rule, at `at` (Unix ms). A rule that differs makes a mark on the
 * charts of the segment, which contains nothing of the rule. Throws `invalid`, or `conflict` for a segment of another
 * kind or table. Without room for a mark the rule is stored all the same. Safe to repeat.
 */
export async function changeRule(
  { catalogue, marks }: RuleDependencies,
  segment: DecidedSegment & { readonly name: string },
  at: number,
): Promise<void> {
  for (;;) {
    const stored = await catalogue.rules();
    const names = await checkRule(catalogue, segment, stored);
    const outcome = await catalogue.putRule({ ...segment, names }, stored.generation, at);
    if (outcome === "outdated") continue;
    if (outcome === "pushed") throw conflict("pushed", "rule", "Messages decide who is in this segment");
    if (outcome === "other-table") throw conflict("other_table", "table", "The segment is of another table");
    const before = stored.segments.find(({ id }) => id === segment.id)?.byRule.rule;
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(segment.rule)) return;
    const text = before === undefined ? "Rule made" : "Rule changed";
    await marks.putMark({ id: randomId(), at, text, dimension: "segment", dimensionId: segment.id }, MAX_MARKS);
    return;
  }
}

/**
 * Checks a parsed rule against the segments that it names and the limits of all rules together. Returns the ids of the
 * former. Throws `invalid`.
 */
export async function checkRule(
  catalogue: Pick<CatalogueStore, "segmentsById">,
  segment: DecidedSegment,
  { segments }: SegmentRules,
): Promise<string[]> {
  checkRules(segment, segments.filter(({ id }) => id !== segment.id).map(decidedSegment));
  const named = segmentsIn(segment.rule);
  const found = await catalogue.segmentsById(named.map(({ id }) => id));
  const missing = named.find(({ id }) => found.get(id)?.table !== segment.table);
  if (missing !== undefined) {
    throw invalid("unknown_segment", missing.path, "There is no such segment of this table in the catalogue");
  }
  return [...found.keys()];
}
