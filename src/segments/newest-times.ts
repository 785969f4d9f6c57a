import { neededTimes } from "./compile-rule.js";
import { leavesOf, type Rule } from "./rule.js";

/** Returns the number of newest event times that the rules of a table need of each stream that one of them names. */
export function newestTimes(rules: readonly Rule[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { leaf } of rules.flatMap((rule) => [...leavesOf(rule)])) {
    if (!("stream" in leaf)) continue;
    const needed = leaf.count === undefined ? 1 : neededTimes(leaf.count);
    for (const name of [leaf.stream].flat()) times.set(name, Math.max(needed, times.get(name) ?? 0));
  }
  return times;
}
