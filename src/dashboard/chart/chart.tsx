import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { coloursOf } from "../colours.js";
import { isUnfinished, type Refused, type Series } from "../fetch-series.js";
import { chartTitle, fullTime, type Zone } from "../format.js";
import { marksOf } from "../marks.js";
import { Later } from "../page/later.js";
import type { Page } from "../view.js";
import { Legend } from "./legend.js";
import { Marks } from "./marks.js";
import { drawPlot, type Plot } from "./plot.js";
import { Tooltip } from "./tooltip.js";
import { ValuesTable } from "./values-table.js";

interface ChartProps {
  /** Series of one unit and one window. */
  readonly series: readonly Series[];
  readonly refused?: readonly Refused[];
  readonly page: Page;
  /** Replaces the derived title. */
  readonly title?: string;
  /** Offers to stack the series. */
  readonly canStack?: boolean;
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
export function Chart({ series, refused = [], page, title, canStack = false, pngRef }: ChartProps): VNode {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [stacked, setStacked] = useState(false);
  const [isFitted, setFitted] = useState(false);
  const [pointed, setPointed] = useState<Pointed>();
  /** Instant of the mark that is being added, Unix ms. */
  const [newMark, setNewMark] = useState<number>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const visible = series.filter(({ name }) => !hidden.has(name));
  const first = series[0];
  const marks = marksOf(visible, page.marks);
  const colours = coloursOf(series.map(({ name }) => name));
  const caption = title ?? titleOf(series, refused);
  const redraws = useRedraws(place);
  const { go } = page;

  useLayoutEffect(() => {
    if (place.current === null || visible.length === 0) return;
    const own = drawPlot(place.current, {
      caption,
      series: visible,
      marks,
      colours,
      stacked,
      isFitted,
      zone: page.zone,
      onPoint: setPointed,
      onSelect: (from, to) => go(wholeBuckets(from, to, visible[0] as Series)),
      onReset: () => go({ from: undefined, to: undefined }),
    });
    plot.current = own;
    if (pngRef !== undefined) pngRef.current = own.toPng;
    return () => own.destroy();
  }, [...series, hidden, stacked, isFitted, page.marks, page.zone, redraws]);

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
      <figcaption>{caption}</figcaption>
      {first !== undefined && (
        <p class="controls note">
          {canStack && <Toggle label="Stacked" isOn={stacked} onChange={setStacked} />}
          {isFlat(visible) && <Toggle label="Fit the axis to the values" isOn={isFitted} onChange={setFitted} />}
          {mayMark && (
            <button type="button" data-key="m" onClick={addMark}>
              Add mark
            </button>
          )}
        </p>
      )}
      {first !== undefined && (
        <div class="chart">
          <div
            ref={place}
            class="drawing"
            role="img"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk along the points.
            tabIndex={0}
            aria-label={summaryOf(caption, visible, page.zone)}
            onKeyDown={onKeyDown}
            onClick={(event) => event.shiftKey && addMark()}
            onBlur={() => plot.current?.point(undefined)}
          />
          {pointed !== undefined && visible.length > 0 && (
            <Tooltip
              series={visible}
              marks={marks}
              colours={colours}
              index={pointed.index}
              left={pointed.left}
              zone={page.zone}
            />
          )}
        </div>
      )}
      <Legend series={series} refused={refused} colours={colours} hidden={hidden} onChange={setHidden} />
      {marks.length > 0 && <Marks marks={marks} page={page} />}
      {newMark !== undefined && (
        <Later script={newMarkDialog} props={{ at: newMark, page, close: () => setNewMark(undefined) }} />
      )}
      <OtherInterval series={first} page={page} />
      <Unfinished series={visible} zone={page.zone} />
      {first !== undefined && (
        <details>
          <summary>Values as a table</summary>
          <ValuesTable caption={caption} series={series} zone={page.zone} />
        </details>
      )}
    </figure>
  );
}

interface ToggleProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Toggle({ label, isOn, onChange }: ToggleProps): VNode {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} /> {label}
    </label>
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

function titleOf(series: readonly Series[], refused: readonly Refused[]): string {
  const [first] = series;
  if (first === undefined) return refused.map(({ label }) => label).join(", ") || "No series";
  return chartTitle(first.unit, first.aggregation, first.window.interval);
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

function summaryOf(caption: string, series: readonly Series[], zone: Zone): string {
  const [first] = series;
  if (first === undefined) return `${caption}: no series is shown.`;
  const { from, to } = first.window;
  return `${caption}, ${fullTime(from, zone)} – ${fullTime(to, zone)}, ${series.length} series. Arrow keys read the values.`;
}

/** Names an interval of the link that the window or the slots of the series do not allow. */
function OtherInterval({ series, page }: { readonly series: Series | undefined; readonly page: Page }): VNode | null {
  const { interval } = page.address;
  if (series === undefined || interval === undefined || interval === series.window.interval) return null;
  return (
    <p class="note">
      Buckets of {interval} do not fit these series and this range: buckets of {series.window.interval} are shown.
    </p>
  );
}

/** The sentence about unfinished buckets; nothing when all are complete. */
function Unfinished({ series, zone }: { readonly series: readonly Series[]; readonly zone: Zone }): VNode | null {
  const open = series.filter((one) => one.window.buckets.some((_, at) => isUnfinished(one, at)));
  if (open.length === 0) return null;
  const isDrawn = open.some((one) => one.values.some((value, at) => value !== null && isUnfinished(one, at)));
  const until = Math.min(...open.map(({ completeUntil }) => completeUntil));
  const next = Math.min(...open.map(({ nextSaveAt }) => nextSaveAt));
  return (
    <p class="note">
      Complete until {fullTime(until, zone)}; {isDrawn ? "later buckets are dashed" : "later buckets have no value yet"}
      . Next save {fullTime(next, zone)}.
    </p>
  );
}

/** Counts changes of width and colour scheme: after each, the drawing is made again. */
function useRedraws(place: { readonly current: HTMLElement | null }): number {
  const [redraws, setRedraws] = useState(0);
  useEffect(() => {
    const again = () => setRedraws((count) => count + 1);
    let width = place.current?.clientWidth;
    const sizes = new ResizeObserver(() => {
      if (place.current?.clientWidth === width) return;
      width = place.current?.clientWidth;
      again();
    });
    if (place.current !== null) sizes.observe(place.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", again);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", again);
    };
  }, []);
  return redraws;
}
