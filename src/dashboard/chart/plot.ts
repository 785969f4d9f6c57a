import type { Options } from "uplot";
import type { ChartMark } from "../chart-mark.js";
import type { SeriesColour } from "../colours.js";
import { DAY } from "../duration.js";
import type { Series } from "../fetch-series.js";
import { clockTime, dayOf, type Zone } from "../format.js";
import type { Axis } from "./axis.js";
import type { BarPaths } from "./bars.js";
import type { Drawn } from "./drawn.js";
import { LABELS, LEFT, RIGHT } from "./gutters.js";
import { drawLabels } from "./line-labels.js";
import { linesOf, middleOf } from "./lines.js";
import { type Paint, paintOf } from "./paint.js";

let uPlot: typeof import("./uplot.js").uPlot;

/** Loads uPlot. A view with charts is drawn after that. */
export async function loadPlot(): Promise<void> {
  ({ uPlot } = await import("./uplot.js"));
}

const X_AXIS = 30;
const TOP = 10;
/** Half of a label less the space to the right of the drawing. */
const EDGE = 4;
const MIN_WIDTH_FOR_LABELS = 700;

interface PlotOptions {
  /** Title of an image of the drawing. */
  readonly title: string;
  readonly series: readonly Series[];
  readonly drawn: readonly Drawn[];
  readonly isStack: boolean;
  readonly bars?: BarPaths | undefined;
  readonly marks: readonly ChartMark[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  /** The time axis, Unix ms. */
  readonly span: { readonly from: number; readonly to: number };
  readonly axis: Axis;
  readonly zone: Zone;
  /** Called with the bucket under the pointer and its distance from the left edge in px; undefined when it leaves. */
  readonly onPoint: (at: { readonly index: number; readonly left: number } | undefined) => void;
  /** Called with the window that was selected by dragging, Unix ms. */
  readonly onSelect: (from: number, to: number) => void;
  readonly onReset: () => void;
}

export interface Plot {
  /** Moves the pointer line to a bucket; undefined removes it. */
  point(index: number | undefined): void;
  toPng(): Promise<Blob | null>;
  destroy(): void;
}

/**
 * Draws series of one window and one unit. A value is in the middle of its bucket. Complete buckets are a solid line,
 * unfinished ones dashed with a hollow dot, the window before thin and dotted. An absent value interrupts the line.
 */
export function drawPlot(place: HTMLElement, options: PlotOptions): Plot {
  const { series, marks, span, axis, zone, onPoint, onSelect, onReset } = options;
  const { window } = series[0] as Series;
  const paint = paintOf(place);
  const { data, lines, ends } = linesOf({ ...options, paint });
  const hasLabels = ends.length > 1 && place.clientWidth >= MIN_WIDTH_FOR_LABELS;
  const middles = window.buckets.map((_, index) => middleOf(window, index) / 1000);
  const style = { stroke: paint.colour("var(--dim)"), font: paint.font, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: Math.max(1, place.clientWidth),
      height: Math.max(1, place.clientHeight),
      legend: { show: false },
      padding: [marks.length > 0 ? LABELS : TOP, RIGHT, 0, 0],
      ...(zone === "UTC" ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") } : {}),
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            onReset();
            return null;
          },
        },
      },
      scales: { x: { range: [span.from / 1000, span.to / 1000] }, y: { range: () => [axis.min, axis.max] } },
      axes: [
        {
          ...style,
          size: X_AXIS,
          grid: { show: false },
          // A label at the right edge would be cut.
          values: (own, splits, _, __, step) =>
            splits.map((at) => (isAtEdge(own, at) ? "" : timeMark(at * 1000, step * 1000, zone))),
        },
        {
          ...style,
          size: LEFT,
          gap: 8,
          grid: { stroke: paint.colour("var(--line)"), width: 1 },
          splits: () => [...axis.ticks],
          values: () => [...axis.labels],
        },
      ],
      series: lines,
      hooks: {
        drawAxes: [(own) => drawZero(own, axis, paint)],
        draw: [(own) => drawMarkLines(own, marks, paint), (own) => hasLabels && drawLabels(own, ends, paint)],
        setCursor: [
          ({ cursor: { idx, left }, bbox }) =>
            onPoint(
              idx == null || left == null || left < 0
                ? undefined
                : { index: idx, left: left + bbox.left / uPlot.pxRatio },
            ),
        ],
        setSelect: [
          (own) => {
            const { left, width } = own.select;
            if (width <= 0) return;
            own.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            onSelect(own.posToVal(left, "x") * 1000, own.posToVal(left + width, "x") * 1000);
          },
        ],
      },
    } satisfies Options,
    [middles, ...data] as never,
    place,
  );
  plot.root.setAttribute("aria-hidden", "true");
  return {
    point(index) {
      const middle = index === undefined ? undefined : middles[index];
      plot.setCursor(middle === undefined ? { left: -10, top: -10 } : { left: plot.valToPos(middle, "x"), top: 1 });
    },
    toPng: async () =>
      (await import("./png.js")).pngOf(plot.ctx.canvas, {
        ...options,
        place: { ...span, width: place.clientWidth },
        paint,
      }),
    destroy: () => plot.destroy(),
  };
}

/** Whether half of a label is wider than the space to the right of its time. */
function isAtEdge({ bbox, valToPos }: InstanceType<typeof uPlot>, seconds: number): boolean {
  return bbox.width / uPlot.pxRatio - valToPos(seconds, "x") < EDGE;
}

/** Draws the line of 0 where values are on both sides of it. */
function drawZero(plot: InstanceType<typeof uPlot>, { min, max }: Axis, paint: Paint): void {
  if (min >= 0 || max <= 0) return;
  plot.ctx.fillStyle = paint.colour("var(--dim)");
  plot.ctx.fillRect(plot.bbox.left, Math.round(plot.valToPos(0, "y", true)), plot.bbox.width, uPlot.pxRatio);
}

/** Draws a dotted line from the label of each mark to the time axis. */
function drawMarkLines(plot: InstanceType<typeof uPlot>, marks: readonly ChartMark[], paint: Paint): void {
  const { ctx: context, bbox } = plot;
  const ratio = uPlot.pxRatio;
  context.save();
  context.strokeStyle = paint.colour("var(--mark-line)");
  context.lineWidth = 1.5 * ratio;
  context.setLineDash([2 * ratio, 3 * ratio]);
  context.beginPath();
  for (const { at } of marks) {
    const x = plot.valToPos(at / 1000, "x", true);
    context.moveTo(x, bbox.top - 8 * ratio);
    context.lineTo(x, bbox.top + bbox.height);
  }
  context.stroke();
  context.restore();
}

/** The hour; the day at midnight and where a step is a day or longer. */
function timeMark(ms: number, step: number, zone: Zone): string {
  const hour = clockTime(ms, zone);
  return step >= DAY || hour === "00:00" ? dayOf(ms, zone) : hour;
}
