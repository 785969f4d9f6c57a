import type { Series as Line, Options } from "uplot";
import { colourText, type SeriesColour } from "../colours.js";
import { DAY } from "../duration.js";
import { isUnfinished, type Series, type Values } from "../fetch-series.js";
import { amount, clockTime, dayOf, fullTime, type Zone } from "../format.js";
import type { ChartMark } from "../marks.js";
import { cutTo } from "./cut-text.js";
import { drawMarks } from "./draw-marks.js";

// The file of uPlot is loaded with the first view that has a chart, before that view is drawn.
const { uPlot } = await import("./uplot.js");

const HEIGHT = 230;
const X_AXIS = 34;
/** Space between the labels of the y axis and the drawing, and minimum width of both together, px. */
const Y_GAP = 16;
const Y_AXIS = 40;
/** Space to the right of the drawing: half a label of the x axis, or the labels of the lines where there is room. */
const RIGHT = 28;
const LABELS = 110;
const MIN_WIDTH_FOR_LABELS = 700;
const LINE_HEIGHT = 15;
const DOT = 5;
const HOLLOW_DOT = 6;

interface PlotOptions {
  /** Title of an image of the drawing. */
  readonly caption: string;
  readonly series: readonly Series[];
  readonly marks: readonly ChartMark[];
  readonly colours: ReadonlyMap<string, SeriesColour>;
  readonly stacked: boolean;
  /** Whether the y axis begins at the smallest value instead of 0. */
  readonly isFitted: boolean;
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
 * Draws series of one window and one unit; the x axis is the window. Complete buckets are a solid line, unfinished ones
 * dashed with a hollow dot, the window before thin and dotted. An absent value interrupts the line.
 */
export function drawPlot(place: HTMLElement, options: PlotOptions): Plot {
  const { series, zone, onPoint, onSelect, onReset } = options;
  const first = series[0] as Series;
  const { buckets, from, to } = first.window;
  const style = getComputedStyle(place);
  const { data, lines, ends } = linesOf(options, style);
  const axis = axisOf(style);
  const hasLabels = series.length > 1 && place.clientWidth >= MIN_WIDTH_FOR_LABELS;
  const plot = new uPlot(
    {
      width: Math.max(1, place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      padding: [null, hasLabels ? LABELS : RIGHT, null, null],
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
      scales: {
        x: { range: [from / 1000, to / 1000] },
        y: { range: (_, least, most) => yRange(least ?? 0, most ?? 0, options.isFitted) },
      },
      axes: [
        {
          ...axis,
          size: X_AXIS,
          values: (_, splits, __, ___, step) => splits.map((at) => timeMark(at * 1000, step * 1000, zone)),
        },
        {
          ...axis,
          size: (own, labels) => widthOf(own.ctx, labels ?? [], axis.font),
          values: (_, splits) => splits.map((value) => amount(value, first.unit)),
        },
      ],
      series: lines,
      hooks: {
        draw: [
          (own) => drawMarks(own, options.marks, axis.stroke, axis.font, uPlot.pxRatio),
          (own) => hasLabels && drawLabels(own, ends, axis.font),
        ],
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
    [buckets.map((ts) => ts / 1000), ...data] as never,
    place,
  );
  plot.root.setAttribute("aria-hidden", "true");
  return {
    point(index) {
      const ts = index === undefined ? undefined : buckets[index];
      plot.setCursor(ts === undefined ? { left: -10, top: -10 } : { left: plot.valToPos(ts / 1000, "x"), top: 1 });
    },
    toPng: () => pngOf(plot.ctx.canvas, options, style),
    destroy: () => plot.destroy(),
  };
}

/** The y axis includes 0 unless it is fitted to the values. */
function yRange(least: number, most: number, isFitted: boolean): [number, number] {
  const pad = (most - least) * 0.05;
  if (isFitted && most > least) return [least - pad, most + pad];
  return [Math.min(0, least), most * 1.05 || 1];
}

/** Width of an axis whose labels are never cut, px. */
function widthOf(context: CanvasRenderingContext2D, labels: readonly string[], font: string): number {
  context.save();
  context.font = font;
  const widest = Math.max(0, ...labels.map((label) => context.measureText(label).width));
  context.restore();
  return Math.max(Y_AXIS, Math.ceil(widest) + Y_GAP);
}

/** The last point of a line, with the label drawn next to it. */
interface LineEnd {
  readonly label: string;
  readonly stroke: string;
  /** Unix ms. */
  readonly ts: number;
  readonly value: number;
}

interface Lines {
  readonly data: Values[];
  readonly lines: Line[];
  readonly ends: LineEnd[];
}

/** Writes the label of each line at its end, as the second sign besides its colour; labels move apart. */
function drawLabels(plot: InstanceType<typeof uPlot>, ends: readonly LineEnd[], font: string): void {
  const { ctx: context, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const placed = ends
    .map((end) => ({ ...end, x: plot.valToPos(end.ts / 1000, "x", true), y: plot.valToPos(end.value, "y", true) }))
    .sort((a, b) => a.y - b.y);
  context.save();
  context.font = font.replace(/[\d.]+px/, (size) => `${Number.parseFloat(size) * ratio}px`);
  context.textAlign = "left";
  context.textBaseline = "middle";
  let free = bbox.top;
  placed.splice(Math.floor(bbox.height / (LINE_HEIGHT * ratio)));
  for (const [index, { label, stroke, x, y }] of placed.entries()) {
    const left = (placed.length - index) * LINE_HEIGHT * ratio;
    const at = Math.max(free, Math.min(y, bbox.top + bbox.height - left + (LINE_HEIGHT * ratio) / 2));
    context.fillStyle = stroke;
    context.fillText(cutTo(label, (LABELS - 10) * ratio, context), Math.max(x, bbox.left) + 6 * ratio, at);
    free = at + LINE_HEIGHT * ratio;
  }
  context.restore();
}

/** Up to three lines for each series: complete, unfinished, and the window before. */
function linesOf({ series, colours, stacked }: PlotOptions, style: CSSStyleDeclaration): Lines {
  const data: Values[] = [];
  const lines: Line[] = [{}];
  const ends: LineEnd[] = [];
  const card = style.getPropertyValue("--card").trim();
  const drawn = stacked ? cumulative(series) : series.map((one) => ({ one, values: one.values }));
  for (const { one, values } of drawn) {
    const { buckets } = one.window;
    const stroke = colourText(colours.get(one.name) as SeriesColour, style);
    const end = values.findLastIndex((value) => value !== null);
    if (end >= 0) ends.push({ label: one.label, stroke, ts: buckets[end] as number, value: values[end] as number });
    const open = (at: number) => isUnfinished(one, at);
    const lastComplete = values.findLastIndex((value, at) => value !== null && !open(at));
    const complete = values.map((value, at) => (open(at) ? null : value));
    data.push(complete);
    lines.push({
      stroke,
      width: 2,
      ...(stacked ? { fill: stroke } : {}),
      points: { show: true, size: DOT, fill: stroke, stroke, filter: () => isolated(values) },
    });
    if (values.some((value, at) => value !== null && open(at))) {
      const unfinished = values.map((value, at) => (at === lastComplete || open(at) ? value : null));
      const hollow = values.flatMap((value, at) => (value !== null && open(at) ? [at] : []));
      data.push(unfinished);
      lines.push({
        stroke,
        width: 2,
        dash: [4, 4],
        points: { show: true, size: HOLLOW_DOT, fill: card, stroke, filter: () => hollow },
      });
    }
    if (one.before !== undefined && !stacked) {
      const { before } = one;
      data.push(before);
      lines.push({
        stroke,
        width: 1,
        dash: [2, 3],
        points: { show: true, size: DOT - 1, fill: stroke, stroke, filter: () => isolated(before) },
      });
    }
  }
  return { data, lines, ends };
}

/** Values without a neighbour: a line has no length there, so a dot is drawn. */
function isolated(values: Values): number[] {
  return values.flatMap((value, at) =>
    value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );
}

/** Stacks the series and returns the highest sum first, so that lower ones are drawn over it. */
function cumulative(series: readonly Series[]): { one: Series; values: Values }[] {
  const sums: (number | null)[] = (series[0]?.values ?? []).map(() => null);
  return series
    .toReversed()
    .map((one) => {
      one.values.forEach((value, at) => {
        if (value !== null) sums[at] = (sums[at] ?? 0) + value;
      });
      return { one, values: [...sums] };
    })
    .reverse();
}

function axisOf(style: CSSStyleDeclaration) {
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    stroke: colour("--dim"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
}

/** The hour; the day at midnight and where a step is a day or longer. */
function timeMark(ms: number, step: number, zone: Zone): string {
  const hour = clockTime(ms, zone);
  return step >= DAY || hour === "00:00" ? dayOf(ms, zone) : hour;
}

/** The drawing on the background of its card, below its title and window, and above its legend. */
function pngOf(drawing: HTMLCanvasElement, options: PlotOptions, style: CSSStyleDeclaration): Promise<Blob | null> {
  const { caption, series, colours, zone } = options;
  const ratio = uPlot.pxRatio;
  const line = 20 * ratio;
  const canvas = document.createElement("canvas");
  canvas.width = drawing.width;
  canvas.height = drawing.height + line * (series.length + 2.5);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const write = (text: string, x: number, y: number, name: string) => {
    context.fillStyle = colour(name);
    context.fillText(cutTo(text, canvas.width - x - line, context), x, y);
  };
  context.fillStyle = colour("--card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = `${13 * ratio}px ${style.fontFamily}`;
  const { from, to } = (series[0] as Series).window;
  write(caption, line, line, "--text");
  write(`${fullTime(from, zone)} – ${fullTime(to, zone)}`, line, 2 * line, "--dim");
  context.drawImage(drawing, 0, 2 * line);
  for (const [index, { name, label }] of series.entries()) {
    const y = drawing.height + line * (index + 3);
    context.fillStyle = colourText(colours.get(name) as SeriesColour, style);
    context.fillRect(line, y - line / 3, line, line / 5);
    write(label, 2.5 * line, y, "--text");
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
