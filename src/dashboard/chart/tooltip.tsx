import type { VNode } from "preact";
import type { ChartMark } from "../chart-mark.js";
import type { SeriesColour } from "../colours.js";
import { isUnfinished, type Series } from "../fetch-series.js";
import { amount, bucketLabel, change, type Zone } from "../format.js";
import { endOf } from "../time-window.js";
import { SeriesKey } from "./series-key.js";

interface TooltipProps {
  readonly series: readonly Series[];
  readonly marks: readonly ChartMark[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  /** Bucket under the pointer. */
  readonly index: number;
  /** Distance from the left edge of the chart, px. */
  readonly left: number;
  readonly zone: Zone;
}

/** Values of one bucket, each with its change to the bucket before, and the marks in it. */
export function Tooltip({ series, marks, colours, index, left, zone }: TooltipProps): VNode | null {
  const [first] = series;
  const ts = first?.window.buckets[index];
  if (first === undefined || ts === undefined) return null;
  const end = endOf(first.window, index);
  const own = marks.filter(({ at }) => at >= ts && at < end);
  const isRight = index > first.window.buckets.length / 2;
  return (
    <div role="tooltip" class={isRight ? "tooltip right" : "tooltip"} style={{ "--left": `${left}px` }}>
      <p>{bucketLabel(ts, end, zone)}</p>
      <ul>
        {series.map((one) => (
          <li key={one.name}>
            <SeriesKey colour={colours.get(one.name)} /> <bdi>{one.label}</bdi> <Value series={one} index={index} />
          </li>
        ))}
        {own.map(({ id, text }) => (
          <li key={id}>Mark: {text}</li>
        ))}
      </ul>
    </div>
  );
}

function Value({ series, index }: { readonly series: Series; readonly index: number }): VNode {
  const value = series.values[index];
  const before = series.before?.[index];
  return (
    <>
      {value == null ? "–" : <data value={value}>{amount(value, series.unit)}</data>}
      {value != null && (
        <span class="note">
          {" "}
          {isUnfinished(series, index) ? "not complete" : change(value, series.values[index - 1], series.unit)}
        </span>
      )}
      {before != null && (
        <span class="note">
          {" "}
          · before <data value={before}>{amount(before, series.unit)}</data>
        </span>
      )}
    </>
  );
}
