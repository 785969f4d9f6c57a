import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { seriesNamed } from "../address.js";
import { coloursOf } from "../colours.js";
import type { Refused, Series } from "../fetch-series.js";
import { chartTitle, fullTime, type Zone } from "../format.js";
import { marksOf } from "../marks.js";
import { Later } from "../page/later.js";
import { Toggle } from "../page/toggle.js";
import type { Page } from "../view.js";
import { zoneName } from "../zone.js";
import { yAxis } from "./axis.js";
import type { BarPaths } from "./bars.js";
import { drawnOf, scaleValues } from "./drawn.js";
import { Legend } from "./legend.js";
import { Marks } from "./marks.js";
import { drawPlot, type Plot } from "./plot.js";
import { State } from "./state.js";
import { Tooltip } from "./tooltip.js";
import { useDrawingPlace } from "./use-drawing-place.js";
import { ValuesTable } from "./values-table.js";

interface ChartProps {
  /** Series of one unit and one window. */
  readonly series: readonly Series[];
  readonly refused?: readonly Refused[];
  readonly page: Page;
  /** Series of other charts that have the same time axis. */
  readonly beside?: readonly Series[];
  /** Replaces the name of the unit. */
  readonly title?: string | undefined;
  /** Draws people who joined and left as bars instead of lines. */
  readonly bars?: BarPaths;
  /** Offers to stack the series. */
  readonly canStack?: boolean;
  /** Buttons next to the title. */
  readonly actions?: ComponentChildren;
  /** Gets the drawing as a PNG, for a download. */
  readonly pngRef?: { current: (() => Promise<Blob | null>) | undefined };
}

const newMarkDialog = async () => (await import("./new-mark.js")).NewMark;

interface Pointed {
  readonly index: number;
  readonly left: number;
}

/**
 * A drawing with tooltip, legend and a table of values. Dragging selects a window, a double click returns to the range.
 */
export function Chart(props: ChartProps): VNode {
  const { series, refused = [], page, beside = series, title, bars, canStack, actions, pngRef } = props;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [isStack, setStack] = useState(false);
  const [isFitted, setFitted] = useState(false);
  const [pointed, setPointed] = useState<Pointed>();
  const [isTableOpen, openTable] = useState(false);
  /** Instant of the mark that is being added, Unix ms. */
  const [newMark, setNewMark] = useState<number>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const { width, drawing } = useDrawingPlace(place);
  const { go, zone } = page;
  const visible = series.filter(({ name }) => !hidden.has(name));
  const first = series[0];
  const words = titleOf(series, refused, title);
  const colours = coloursOf(series);
  const drawn = drawnOf(visible, isStack ? "stack" : bars ? "bars" : "lines");
  const { values, isRestCut } = scaleValues(drawn);
  const span = spanOf(beside);
  const marks = marksOf(visible, page.marks);

  const caption = `${words.title} ${words.bucket}`;
  // The pointer draws the chart again, but not the many cells of the table.
  const table = useMemo(
    () => <ValuesTable caption={caption} series={series} zone={zone} />,
    [...series, caption, zone],
  );

  useLayoutEffect(() => {
    if (place.current === null || first === undefined || visible.length === 0) return;
    const own = drawPlot(place.current, {
      title: caption,
      series: visible,
      drawn,
      isStack,
      bars,
      marks,
      colours,
      span,
      axis: yAxis(values, { unit: first.unit, isFitted, steps: bars ? 2 : 3 }),
      zone,
      onPoint: setPointed,
      onSelect: (from, to) => go(wholeBuckets(from, to, first)),
      onReset: () => go({ from: undefined, to: undefined }),
    });
    plot.current = own;
    if (pngRef !== undefined) pngRef.current = own.toPng;
    return () => own.destroy();
  }, [...series, hidden, isStack, isFitted, page.marks, zone, width, drawing]);

  const mayMark = page.scopes.has("metric:write");
  const addMark = () => {
    if (!mayMark || first === undefined) return;
    const at = pointed === undefined ? undefined : first.window.buckets[pointed.index];
    setNewMark(at ?? Math.min(page.now, first.window.to));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = (first?.window.buckets.length ?? 0) - 1;
    const at = pointed?.index ?? last + 1;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") plot.current?.point(undefined);
    if (next === undefined) return;
    event.preventDefault();
    plot.current?.point(Math.min(last, Math.max(0, next)));
  };

  return (
    <figure>
      <figcaption>
        <h2>{words.title}</h2> {words.bucket} · {zoneName(zone)}
      </figcaption>
      {first !== undefined && (
        <div class="controls note">
          {canStack && <Toggle label="Stacked" isOn={isStack} onChange={setStack} />}
          {isFlat(visible) && <Toggle label="Fit the axis to the values" isOn={isFitted} onChange={setFitted} />}
          {mayMark && (
            <button type="button" data-key="m" onClick={addMark}>
              + Mark
            </button>
          )}
          {actions}
        </div>
      )}
      {first !== undefined && (
        <div class="chart">
          <div
            ref={place}
            class={bars ? "drawing low" : "drawing"}
            role="img"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk along the points.
            tabIndex={0}
            aria-label={summaryOf(caption, visible, zone)}
            onKeyDown={onKeyDown}
            onClick={(event) => event.shiftKey && addMark()}
            onBlur={() => plot.current?.point(undefined)}
          />
          {marks.length > 0 && width > 0 && <Marks marks={marks} place={{ ...span, width }} page={page} />}
          {pointed !== undefined && visible.length > 0 && (
            <Tooltip series={visible} marks={marks} colours={colours} {...pointed} zone={zone} />
          )}
        </div>
      )}
      <Legend {...{ series, refused, colours, hidden, isRestCut, page }} onChange={setHidden} />
      {first !== undefined && (
        <State series={visible} page={page} isTableOpen={isTableOpen} onTable={() => openTable(!isTableOpen)} />
      )}
      {first !== undefined && <div hidden={!isTableOpen}>{table}</div>}
      {newMark !== undefined && (
        <Later
          script={newMarkDialog}
          props={{ at: newMark, subjects: subjectsOf(series), page, close: () => setNewMark(undefined) }}
        />
      )}
    </figure>
  );
}

/** Share of the largest value below which the differences of a chart from 0 are hard to see. */
const FLAT = 0.25;

/** Whether all values are far from 0 and close together, so that an axis without 0 shows more. */
function isFlat(series: readonly Series[]): boolean {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length > 0 && least > 0 && most > least && (most - least) / most < FLAT;
}

function titleOf(series: readonly Series[], refused: readonly Refused[], title: string | undefined) {
  const [first] = series;
  const known = first && chartTitle(first.unit, first.aggregation, first.window.interval);
  const own = title ?? known?.title ?? (refused.map(({ label }) => label).join(", ") || "No series");
  return { title: own, bucket: known?.bucket ?? "no values" };
}

/** The window of all series, Unix ms: their slots may have different lengths. */
function spanOf(series: readonly Series[]): { from: number; to: number } {
  const windows = series.map(({ window }) => window);
  return { from: Math.min(...windows.map(({ from }) => from)), to: Math.max(...windows.map(({ to }) => to)) };
}

/** A selection as a window of whole buckets. */
function wholeBuckets(from: number, to: number, { window }: Series): { from: number; to: number } {
  const edges = [...window.buckets, window.to];
  const distance = (ms: number, index: number) => Math.abs((edges[index] as number) - ms);
  const nearest = (ms: number) => edges.reduce((best, _, at) => (distance(ms, at) < distance(ms, best) ? at : best), 0);
  const last = Math.max(1, nearest(to));
  const first = Math.min(nearest(from), last - 1);
  return { from: edges[first] as number, to: edges[last] as number };
}

/** The things whose series a chart has, each once. */
function subjectsOf(series: readonly Series[]): { dimension: string; dimension_id: string }[] {
  const subjects = new Map(
    series.flatMap(({ name }) => {
      const { dimension, dimension_id } = seriesNamed(name) ?? {};
      if (dimension === undefined || dimension_id === undefined) return [];
      return [[`${dimension}.${dimension_id}`, { dimension, dimension_id }] as const];
    }),
  );
  return [...subjects.values()];
}

function summaryOf(caption: string, series: readonly Series[], zone: Zone): string {
  const [first] = series;
  if (first === undefined) return `${caption}: no series is shown.`;
  const { from, to } = first.window;
  return `${caption}, ${fullTime(from, zone)} – ${fullTime(to, zone)}, ${series.length} series. Arrow keys read the values.`;
}
