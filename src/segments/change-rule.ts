import type { CatalogueStore, SegmentRules } from "../catalogue/ports.js";
import { conflict, invalid } from "../errors.js";
import { checkRules } from "./check-rules.js";
import { type DecidedSegment, decidedSegment, segmentsIn } from "./decided-segment.js";

/**
 * Adds the segment by rule, or changes its name and rule, at `at` (Unix ms). Throws `invalid`, or `conflict` for a
 * segment of another kind or table. Safe to repeat.
 */
export async function changeRule(
  catalogue: Pick<CatalogueStore, "rules" | "segmentsById" | "putRule">,
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
