import type { VNode } from "preact";
import type { CompletedInMonth } from "../../client/client.js";
import { count, monthOf } from "../format.js";
import { Fact } from "../page/fact.js";

/** The deletions completed in each of the last 12 months, the newest first. */
export function CompletedByMonth({ months }: { readonly months: readonly CompletedInMonth[] }): VNode {
  return (
    <>
      <p>Completed by month (UTC), of the requests that the ledger still holds:</p>
      <dl class="facts">
        {months.toReversed().map(({ month, completed }) => (
          <Fact key={month} name={monthOf(month)}>
            {count(completed)}
          </Fact>
        ))}
      </dl>
    </>
  );
}
