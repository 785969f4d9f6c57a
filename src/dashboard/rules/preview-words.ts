import type { RulePreview } from "../../client/client.js";
import { amount, count } from "../format.js";

/** Number and share of the people who match: `≈ 1,240`, ` of 50,000, 2.5 %, between 2.2 and 2.8`. */
export function matchWords({ of, estimate, low, high, exact }: RulePreview): readonly [number: string, share: string] {
  const share = (people: number) => amount(of === 0 ? 0 : people / of, "rate");
  const between = `, between ${share(low).slice(0, -2)} and ${share(high).slice(0, -2)}`;
  return [`${exact ? "" : "≈ "}${count(estimate)}`, ` of ${count(of)}, ${share(estimate)}${exact ? "" : between}`];
}

/**
 * Numbers of people who would leave and join: `About 97 of today's 1,337 would leave, 12 would join.` An estimate of
 * who leaves can be above the size.
 */
export function moveWords({ joining = 0, leaving = 0, exact }: RulePreview, size: number): string {
  return `${exact ? "" : "About "}${count(Math.min(leaving, size))} of today's ${count(size)} would leave, ${count(joining)} would join.`;
}
