import type { VNode } from "preact";
import type { ExplainedMembership } from "../../client/client.js";
import type { Rule } from "../../segments/rule.js";
import { fullTime } from "../format.js";
import type { Page } from "../view.js";
import { RuleTree } from "./rule-tree.js";
import { useSegmentNames } from "./use-segment-names.js";

interface WhyProps {
  /** A segment by rule. */
  readonly explained: ExplainedMembership;
  readonly page: Page;
}

/** Explains why a person is in a segment by rule or not: the rule with each condition's result, and until when. */
export function Why({ explained: { by }, page }: WhyProps): VNode {
  const reason = by !== null && "rule" in by ? by : undefined;
  const names = useSegmentNames(reason?.rule, page);
  if (reason === undefined) return <p class="note">This key does not see the reason.</p>;
  const { rule, until } = reason;
  return (
    <>
      <RuleTree node={rule as unknown as Rule} names={names} />
      <p class="note">
        {until === null
          ? "It does not change as time passes."
          : `As time passes, it can change on ${fullTime(Date.parse(until), page.zone)}.`}
      </p>
    </>
  );
}
