import type { VNode } from "preact";
import { firstAndLast, type Series } from "../fetch-series.js";
import { amount, change } from "../format.js";
import { Fact } from "../page/fact.js";
import type { Page } from "../view.js";

/** The newest complete value and its change over the window. */
export function ChangeOfRange({
  series,
  page,
}: {
  readonly series: Series | undefined;
  readonly page: Page;
}): VNode | null {
  if (series === undefined) return null;
  const { first, last } = firstAndLast(series);
  const range = page.address.from === undefined ? page.address.range : "the window";
  return (
    <>
      <Fact name="Newest complete bucket">
        {last === null ? "–" : <data value={last}>{amount(last, series.unit)}</data>}
      </Fact>
      <Fact name={`Change in ${range}`}>{change(last, first, series.unit)}</Fact>
    </>
  );
}
