import type { VNode } from "preact";
import { isUnfinished, type Series, shownCompleteUntil } from "../fetch-series.js";
import { fullTime, shortTime } from "../format.js";
import type { Page } from "../view.js";

interface StateProps {
  readonly series: readonly Series[];
  readonly page: Page;
  readonly isTableOpen: boolean;
  readonly onTable: () => void;
}

/** The line about unfinished buckets and an interval that does not fit, with the button that opens the table. */
export function State({ series, page, isTableOpen, onTable }: StateProps): VNode {
  return (
    <p class="state note">
      <OtherInterval series={series[0]} page={page} />
      <Unfinished series={series} page={page} />
      <button type="button" class="plain" aria-expanded={isTableOpen} onClick={onTable}>
        values as a table
      </button>
    </p>
  );
}

/** Names an interval of the link that the window or the slots of the series do not allow. */
function OtherInterval({ series, page }: { readonly series: Series | undefined; readonly page: Page }): VNode | null {
  const { interval } = page.address;
  if (series === undefined || interval === undefined || interval === series.window.interval) return null;
  return (
    <span>
      Buckets of {interval} do not fit these series and this range: buckets of {series.window.interval} are shown
    </span>
  );
}

/** The end of the complete buckets and the next save; nothing when all are complete. */
function Unfinished({ series, page: { now, zone } }: Pick<StateProps, "series" | "page">): VNode | null {
  const open = series.filter((one) => one.window.buckets.some((_, at) => isUnfinished(one, at)));
  if (open.length === 0) return null;
  const isDrawn = open.some((one) => one.values.some((value, at) => value !== null && isUnfinished(one, at)));
  const until = Math.min(...open.map((one) => shownCompleteUntil(one, now)));
  const next = Math.min(...open.map(({ nextSaveAt }) => nextSaveAt));
  const whole = `Complete until ${fullTime(until, zone)}; ${
    isDrawn ? "later buckets are dashed" : "later buckets have no value yet"
  }. Next save ${fullTime(next, zone)}.`;
  return (
    <span title={whole}>
      complete until {shortTime(until, now, zone)} · next {shortTime(next, now, zone)}
    </span>
  );
}
