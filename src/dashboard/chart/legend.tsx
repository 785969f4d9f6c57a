import type { VNode } from "preact";
import type { SeriesColour } from "../colours.js";
import { comparisonOf, isUnfinished, type Refused, type Series } from "../fetch-series.js";
import { amount, changeIn, isCounted, shortAmount, shortTime } from "../format.js";
import { type TimeWindow, windowBefore } from "../time-window.js";
import type { Page } from "../view.js";
import { SeriesKey } from "./series-key.js";

interface LegendProps {
  readonly series: readonly Series[];
  readonly refused: readonly Refused[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  readonly hidden: ReadonlySet<string>;
  /** Whether the rest of all series is larger than the scale. */
  readonly isRestCut: boolean;
  readonly page: Page;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

/** The series with their newest value. A click hides or shows one; with Ctrl, Shift or ⌘ it shows that one alone. */
export function Legend({ series, refused, colours, hidden, isRestCut, page, onChange }: LegendProps): VNode {
  const click = (event: MouseEvent, name: string) => {
    const others = series.map((one) => one.name).filter((one) => one !== name);
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      const isAlone = !hidden.has(name) && others.every((one) => hidden.has(one));
      return onChange(new Set(isAlone ? [] : others));
    }
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  /** Whether one word is enough for several series that are all unfinished. */
  const isOpen = series.length > 1 && series.every((one) => isUnfinished(one, newestAt(one)));
  return (
    <ul class="legend">
      {series.map((one) => (
        <li key={one.name}>
          <button
            type="button"
            class="plain"
            title={`${one.label}: hide or show; with Shift, show alone`}
            aria-pressed={!hidden.has(one.name)}
            onClick={(event) => click(event, one.name)}
          >
            <SeriesKey colour={colours.get(one.name)} />
            <bdi class="cut">{one.label}</bdi> <Newest series={one} isNamed={!isOpen} page={page} />
          </button>
          {one.isRest && isRestCut && <span class="note"> · above the scale</span>}
          {one.before !== undefined && <Compared series={one} page={page} />}
        </li>
      ))}
      {isOpen && <li class="note">values not complete</li>}
      {refused.map(({ name, label, why }) => (
        <li key={name} class="bad">
          {label}: {why}
        </li>
      ))}
    </ul>
  );
}

interface ComparedProps {
  readonly series: Series;
  readonly page: Page;
}

/**
 * The comparison with the window before: of counts `11,000 before, +12 %`, and since when if data begin later; of other
 * values `1,098 on 30 Oct, +12 %`, the bucket that the newest complete one is compared with.
 */
function Compared({ series, page }: ComparedProps): VNode {
  const { unit, window } = series;
  const pair = comparisonOf(series);
  if (pair === undefined) return <span class="note"> · none before</span>;
  const { now, before, at } = pair;
  const isSum = isCounted(unit) && series.aggregation === "sum";
  const time = ({ buckets }: TimeWindow) => shortTime(buckets[at] as number, page.now, page.zone);
  const by = changeIn(now, before, unit);
  return (
    <span class="note" title={`${amount(now, unit)} against ${amount(before, unit)}: ${by?.by}`}>
      · {shortAmount(before, unit)} {isSum ? "before" : `on ${time(windowBefore(window, page))}`}, {by?.share ?? by?.by}
      {isSum && at > 0 && ` since ${time(window)}`}
    </span>
  );
}

interface NewestProps {
  readonly series: Series;
  /** Whether an unfinished value is named here. */
  readonly isNamed: boolean;
  readonly page: Page;
}

/** The newest value; with its time if a complete bucket without a value follows it. */
function Newest({ series, isNamed, page: { now, zone } }: NewestProps): VNode {
  const { values, window } = series;
  const at = newestAt(series);
  const value = values[at];
  if (value == null) return <b>–</b>;
  const isLate = at + 1 < values.length && !isUnfinished(series, at + 1);
  return (
    <>
      <b title={amount(value, series.unit)}>{shortAmount(value, series.unit)}</b>
      {isLate && <span class="note"> at {shortTime(window.buckets[at] as number, now, zone)}</span>}
      {isNamed && isUnfinished(series, at) && <span class="note"> not complete</span>}
    </>
  );
}

const newestAt = ({ values }: Series): number => values.findLastIndex((value) => value !== null);
