import type { Series as Line } from "uplot";
import type { SeriesColour } from "../colours.js";
import { isUnfinished, type Values } from "../fetch-series.js";
import { endOf } from "../time-window.js";
import type { BarPaths } from "./bars.js";
import type { Drawn } from "./drawn.js";
import type { Paint } from "./paint.js";

const DOT = 5;
const HOLLOW_DOT = 7;

/** The last point of a line, with the label drawn next to it. */
export interface LineEnd {
  readonly label: string;
  readonly stroke: string;
  /** Unix ms. */
  readonly at: number;
  readonly value: number;
}

interface Lines {
  readonly data: Values[];
  readonly lines: Line[];
  readonly ends: LineEnd[];
}

interface LinesOptions {
  readonly drawn: readonly Drawn[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  readonly isStack: boolean;
  readonly bars?: BarPaths | undefined;
  readonly paint: Paint;
}

/** Up to three lines for each series: complete, unfinished, and the window before. A line that is alone has an area. */
export function linesOf({ drawn, colours, isStack, bars, paint }: LinesOptions): Lines {
  const data: Values[] = [];
  const lines: Line[] = [{}];
  const ends: LineEnd[] = [];
  const add = (values: Values, line: Line) => {
    data.push(values);
    lines.push({ width: 2, ...line });
  };
  const card = paint.colour("var(--card)");
  for (const { one, values, before, isBar } of drawn) {
    const css = colours.get(one.name) as SeriesColour;
    const stroke = paint.colour(css);
    const open = (at: number) => isUnfinished(one, at);
    if (isBar && bars !== undefined) {
      add(values, { stroke, paths: bars(one.window, open), points: { show: false } });
      continue;
    }
    const end = values.findLastIndex((value) => value !== null);
    if (end >= 0) ends.push({ label: one.label, stroke, at: middleOf(one.window, end), value: values[end] as number });
    const area = isStack
      ? stroke
      : drawn.length === 1
        ? paint.colour(`color-mix(in oklab, ${css} 9%, transparent)`)
        : "";
    const filled = area === "" ? {} : { fill: area, fillTo: nearZero };
    const lastComplete = values.findLastIndex((value, at) => value !== null && !open(at));
    const points = (show: number[], fill = stroke, size = DOT) => ({
      show: true,
      size,
      fill,
      stroke,
      filter: () => show,
    });
    add(
      values.map((value, at) => (open(at) ? null : value)),
      { stroke, ...filled, points: points(isolated(values)) },
    );
    if (values.some((value, at) => value !== null && open(at))) {
      const hollow = values.flatMap((value, at) => (value !== null && open(at) ? [at] : []));
      add(
        values.map((value, at) => (at === lastComplete || open(at) ? value : null)),
        { stroke, ...filled, dash: [4, 4], points: points(hollow, card, HOLLOW_DOT) },
      );
    }
    if (before !== undefined)
      add(before, { stroke, width: 1.25, dash: [2, 3], points: points(isolated(before), stroke, DOT - 1) });
  }
  return { data, lines, ends };
}

/** The middle of a bucket, where its value is drawn, Unix ms. */
export function middleOf(window: Parameters<typeof endOf>[0], index: number): number {
  return ((window.buckets[index] as number) + endOf(window, index)) / 2;
}

/** The end of the scale next to 0, where an area begins; 0 itself if the scale contains it. */
const nearZero: NonNullable<Line["fillTo"]> = ({ scales }) =>
  Math.max(scales.y?.min ?? 0, Math.min(scales.y?.max ?? 0, 0));

/** Values without a neighbour: a line has no length there, so a dot is drawn. */
function isolated(values: Values): number[] {
  return values.flatMap((value, at) =>
    value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );
}
