import type { Series as Line, Options } from "uplot";
import { colourOf, colourText } from "../colours.js";
import { DAY } from "../duration.js";
import { isUnfinished, type Series, type Values } from "../fetch-series.js";
import { amount, clockTime, dayOf, type Zone } from "../format.js";

// The file of uPlot is loaded with the first view that has a chart, before that view is drawn.
const { uPlot } = await import("./uplot.js");

const HEIGHT = 230;
const X_AXIS = 34;
const Y_AXIS = 62;
const DOT = 5;
const HOLLOW_DOT = 6;

interface PlotOptions {
  readonly series: readonly Series[];
  readonly stacked: boolean;
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
  const { data, lines } = linesOf(options, style);
  const axis = axisOf(style);
  const plot = new uPlot(
    {
      width: Math.max(1, place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
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
        y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most ?? 0) * 1.05 || 1] },
      },
      axes: [
        {
          ...axis,
          size: X_AXIS,
          values: (_, splits, __, ___, step) => splits.map((at) => timeMark(at * 1000, step * 1000, zone)),
        },
        { ...axis, size: Y_AXIS, values: (_, splits) => splits.map((value) => amount(value, first.unit)) },
      ],
      series: lines,
      hooks: {
        setCursor: [
          ({ cursor: { idx, left } }) =>
            onPoint(idx == null || left == null || left < 0 ? undefined : { index: idx, left: left + Y_AXIS }),
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
    toPng: () => pngOf(plot.ctx.canvas, style),
    destroy: () => plot.destroy(),
  };
}

interface Lines {
  readonly data: Values[];
  readonly lines: Line[];
}

/** Up to three lines for each series: complete, unfinished, and the window before. */
function linesOf({ series, stacked }: PlotOptions, style: CSSStyleDeclaration): Lines {
  const data: Values[] = [];
  const lines: Line[] = [{}];
  const card = style.getPropertyValue("--card").trim();
  const drawn = stacked ? cumulative(series) : series.map((one) => ({ one, values: one.values }));
  for (const { one, values } of drawn) {
    const { buckets } = one.window;
    const stroke = colourText(colourOf(one.name), style);
    const open = (at: number) => isUnfinished(one, buckets[at] as number);
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
  return { data, lines };
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

/** The drawing on the background of its card. */
function pngOf(drawing: HTMLCanvasElement, style: CSSStyleDeclaration): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  canvas.width = drawing.width;
  canvas.height = drawing.height;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.fillStyle = style.getPropertyValue("--card").trim();
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawing, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
