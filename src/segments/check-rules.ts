import { invalid } from "../errors.js";
import { chainLengths, type DecidedSegment, segmentsIn } from "./decided-segment.js";
import { newestTimes } from "./newest-times.js";
import { leavesOf } from "./rule.js";

const MAX_RULES = 200;
const MAX_LEAVES_OF_ALL = 2_000;
const MAX_CHAIN = 8;
const MAX_FACT_BYTES = 262_144;
/** Bytes of an event time in a profile, with its separator. */
const TIME_BYTES = 14;

/**
 * Checks the limits of all rules together: `changed` with the rules of all other segments of all tables. Throws
 * `invalid` with one issue.
 */
export function checkRules(changed: DecidedSegment, others: readonly DecidedSegment[]): void {
  const rules = [...others, changed];
  if (rules.length > MAX_RULES) {
    throw invalid("too_many_rules", "rule", `There are at most ${MAX_RULES} segments by rule`);
  }
  const leaves = rules.reduce((sum, { rule }) => sum + [...leavesOf(rule)].length, 0);
  if (leaves > MAX_LEAVES_OF_ALL) {
    throw invalid("rule_too_large", "rule", `All rules together have at most ${MAX_LEAVES_OF_ALL} conditions`);
  }
  checkChains(changed, rules);
  const inTable = rules.filter(({ table }) => table === changed.table).map(({ rule }) => rule);
  const times = [...newestTimes(inTable).values()].reduce((sum, needed) => sum + needed, 0);
  if (times * TIME_BYTES > MAX_FACT_BYTES) {
    const most = Math.floor(MAX_FACT_BYTES / TIME_BYTES);
    throw invalid("rule_too_large", "rule", `The rules of a table need at most ${most} event times of a profile`);
  }
}

function checkChains(changed: DecidedSegment, rules: readonly DecidedSegment[]): void {
  const lengths = chainLengths(rules);
  const repeated = segmentsIn(changed.rule).find(({ id }) => lengths.get(id) === Number.POSITIVE_INFINITY);
  if (repeated !== undefined) {
    throw invalid("cyclic_rule", repeated.path, "The rule of this segment depends on the segment of this rule");
  }
  if (Math.max(...lengths.values()) > MAX_CHAIN) {
    throw invalid("rule_too_large", "rule", `A chain of segments by rule has at most ${MAX_CHAIN} segments`);
  }
}
