import type { Reservation } from "../../memory-budget.js";
import { Rules } from "../../segments/current-rules.js";
import type { DecidedSegment } from "../../segments/decided-segment.js";
import { type FactDependencies, withFacts } from "../profile/complete-facts.js";
import { ProfileDraft } from "../profile/profile-draft.js";
import { SAMPLE, type Sampled, type SampleProfiles } from "./sample-profiles.js";

export interface PreviewDependencies extends FactDependencies {
  readonly sample: SampleProfiles;
}

/** Numbers of profiles that match a rule, and that do so in the whole table. */
export interface RulePreview extends Sampled {
  /** Profiles of the sample that match. */
  readonly matching: number;
  /** Profiles of the table that match, and the interval that contains their number with a probability of 95 %. */
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  /** Whether the whole table was looked at, so that `estimate` is no estimate. */
  readonly exact: boolean;
  /** Estimated number of profiles that the rule would add to the segment, and that it would remove. */
  readonly joining: number;
  readonly leaving: number;
}

/**
 * Evaluates the rule of a segment on a sample of its table at `now`, Unix ms. For segments that it names, the stored
 * memberships count. Stores nothing. Rejects as `sample` does.
 */
export async function previewRule(
  { sample, ...dependencies }: PreviewDependencies,
  segment: DecidedSegment,
  now: number,
  memory: Reservation,
): Promise<RulePreview> {
  const { id, table } = segment;
  const rules = new Rules(0, [segment]);
  let [matching, joining, leaving] = [0, 0, 0];
  const { of, sampled } = await sample(table, memory, async (profile) => {
    const draft = ProfileDraft.stored(await withFacts(dependencies, profile, rules), rules);
    const isMember = draft.memberships.isMember(id);
    draft.decide(now);
    const matches = draft.memberships.isMember(id);
    if (matches) matching += 1;
    if (matches && !isMember) joining += 1;
    if (isMember && !matches) leaving += 1;
  });
  const exact = of <= SAMPLE;
  const inTable = (count: number) => (exact ? count : Math.round((of * count) / Math.max(1, sampled)));
  const [low, high] = exact ? [matching, matching] : interval(matching, sampled).map((share) => Math.round(share * of));
  const estimates = { estimate: inTable(matching), low: low as number, high: high as number };
  return { of, sampled, matching, ...estimates, exact, joining: inTable(joining), leaving: inTable(leaving) };
}

/** Quantile of the normal distribution for an interval of 95 %. */
const Z = 1.96;

/** Returns Wilson's interval of a share of which `count` of `sampled` were observed. */
function interval(count: number, sampled: number): [low: number, high: number] {
  const total = sampled + Z * Z;
  const middle = (count + (Z * Z) / 2) / total;
  const half = (Z / total) * Math.sqrt((count * (sampled - count)) / Math.max(1, sampled) + (Z * Z) / 4);
  return [middle - half, middle + half];
}
