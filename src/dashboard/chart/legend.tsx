import type { VNode } from "preact";
import type { SeriesColour } from "../colours.js";
import { comparisonOf, isUnfinished, type Refused, type Series } from "../fetch-series.js";
import { amount, change } from "../format.js";
import { SeriesKey } from "./series-key.js";

interface LegendProps {
  readonly series: readonly Series[];
  readonly refused: readonly Refused[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

/** The series with their newest value. A click hides or shows one; with Ctrl, Shift or ⌘ it shows that one alone. */
export function Legend({ series, refused, colours, hidden, onChange }: LegendProps): VNode {
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
  return (
    <ul class="legend">
      {series.map((one) => (
        <li key={one.name}>
          <button
            type="button"
            class="plain"
            aria-pressed={!hidden.has(one.name)}
            onClick={(event) => click(event, one.name)}
          >
            <SeriesKey colour={colours.get(one.name)} /> {one.label} <b>{newest(one)}</b>
          </button>
          {one.before !== undefined && <span class="note"> · {compared(one)}</span>}
        </li>
      ))}
      {refused.map(({ name, label, why }) => (
        <li key={name} class="bad">
          {label}: {why}
        </li>
      ))}
    </ul>
  );
}

/** `12,345 against 11,000 before in complete buckets: +1,345, +12 %`. */
function compared(series: Series): string {
  const pair = comparisonOf(series);
  if (pair === undefined) return "no value in the window before";
  const { now, before } = pair;
  return `${amount(now, series.unit)} against ${amount(before, series.unit)} before in complete buckets: ${change(now, before, series.unit)}`;
}

function newest(series: Series): string {
  const at = series.values.findLastIndex((value) => value !== null);
  const value = series.values[at];
  if (value == null) return "–";
  const unfinished = isUnfinished(series, at) ? " (not complete)" : "";
  return `${amount(value, series.unit)}${unfinished}`;
}
