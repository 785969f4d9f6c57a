import type uPlotClass from "uplot";
import { el, svg } from "./dom.js";
import { type Drawn, finished, isUnfinished, type Refused } from "./fetch-series.js";
import { amount, change, clockTime, dayOf, fullTime, type Unit, zone } from "./format.js";

declare const uPlot: typeof uPlotClass;

const HEIGHT = 230;
const DAY = 86_400;

/** Charts to be drawn once they stand in the page, and again when colours or widths change. */
const charts = new Map<HTMLElement, () => void>();
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) charts.get(target as HTMLElement)?.();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const draw of charts.values()) draw();
});

/** Which instant of a chart the arrow keys last read, Unix ms by its title: a refresh goes on from there. */
const readAt = new Map<string, number>();

/** Forgets the drawings that have left the page. */
export function forgetCharts(): void {
  for (const place of [...charts.keys()]) {
    if (place.isConnected) continue;
    widths.unobserve(place);
    charts.delete(place);
  }
  if (charts.size === 0) readAt.clear();
}

/**
 * A chart of series of one unit: the drawing, a legend, what is not complete, and the values as a table. An unfinished bucket is dashed
 * and has a hollow dot; arrow keys walk along the points and read them out.
 */
export function chart(title: string, series: readonly Drawn[], refused: readonly Refused[] = []): HTMLElement {
  const times = [...new Set(series.flatMap(({ points }) => points.map(({ ts }) => ts)))].sort((a, b) => a - b);
  const drawing = el("div", {
    class: "drawing",
    role: "img",
    tabindex: 0,
    "data-is": `${title}: drawing`,
    "aria-label": sentence(title, series, times),
  });
  const said = el("p", { class: "hidden", "aria-live": "polite" });
  const values = series.map(({ points }) => {
    const at = new Map(points.map(({ ts, value }) => [ts, value]));
    return times.map((ts) => at.get(ts));
  });
  let plot: uPlotClass | undefined;
  if (times.length > 0) {
    charts.set(drawing, () => {
      plot?.destroy();
      plot = draw(drawing, series, times, values);
    });
    widths.observe(drawing);
    const read = times.indexOf(readAt.get(title) ?? Number.NaN);
    let at = read < 0 ? times.length : read;
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      at = Math.min(times.length - 1, Math.max(0, at + step));
      const ts = times[at] as number;
      readAt.set(title, ts);
      plot?.setCursor({ left: plot.valToPos(ts / 1000, "x"), top: 0 });
      said.textContent = `${fullTime(ts)}: ${series.map((one, index) => `${one.label} ${told(one, ts, values[index]?.[at])}`).join(", ")}`;
    });
  } else drawing.replaceChildren(el("p", { class: "note" }, "Nothing was saved in this window."));
  return el(
    "figure",
    {},
    el("figcaption", { class: "hidden" }, title),
    drawing,
    said,
    legend(series, refused),
    completeness(series),
    el(
      "details",
      {},
      el("summary", { "data-is": `${title}: summary` }, "Values as a table"),
      valuesTable(title, series, times, values),
    ),
  );
}

function sentence(title: string, series: readonly Drawn[], times: readonly number[]): string {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return `${title}: nothing was saved in this window.`;
  const newest = series.map((one) => {
    const point = one.points.at(-1);
    return `${one.label} ${point === undefined ? "has none" : told(one, point.ts, point.value)}`;
  });
  return `${title}, ${fullTime(first)} to ${fullTime(last)}. Newest: ${newest.join(", ")}. Arrow keys read the values.`;
}

/** A value in words. */
function told(series: Drawn, ts: number, value: number | undefined): string {
  if (value === undefined) return "–";
  return `${amount(value, series.unit)}${isUnfinished(series, ts) ? " (not complete)" : ""}`;
}

function legend(series: readonly Drawn[], refused: readonly Refused[]): HTMLElement {
  return el(
    "ul",
    { class: "legend" },
    ...series.map((one, index) => {
      const last = one.points.at(-1);
      const mark = el("i", { class: `key c${index % 6}${one.earlier ? " earlier" : ""}`, "aria-hidden": "true" });
      return el("li", {}, mark, one.label, " ", el("b", {}, last === undefined ? "–" : told(one, last.ts, last.value)));
    }),
    ...refused.map(({ label, why }) => el("li", { class: "bad" }, `${label}: ${why}`)),
  );
}

function completeness(series: readonly Drawn[]): HTMLElement | undefined {
  const now = series.filter(({ earlier }) => !earlier);
  if (now.length === 0) return undefined;
  const until = Math.min(...now.map(({ completeUntil }) => completeUntil));
  const next = Math.min(...now.map(({ nextSaveAt }) => nextSaveAt));
  return el(
    "p",
    { class: "note" },
    `Complete until ${fullTime(until)}, dashed after that; next save ${fullTime(next)}.`,
  );
}

type Values = readonly (readonly (number | undefined)[])[];

function valuesTable(title: string, series: readonly Drawn[], times: readonly number[], values: Values): HTMLElement {
  const heads = series.map(({ name, label, earlier }) =>
    el("th", { scope: "col", "data-series": name, "data-compare": earlier }, label),
  );
  const rows = times.map((ts, row) => {
    const cells = series.map((one, column) => {
      const value = values[column]?.[row];
      if (value === undefined) return el("td", {}, "–");
      const unfinished = isUnfinished(one, ts);
      const shown = el("data", { value }, amount(value, one.unit));
      return el(
        "td",
        { class: "number", "data-unfinished": unfinished },
        shown,
        unfinished ? " not complete" : undefined,
      );
    });
    const time = el("time", { datetime: new Date(ts).toISOString() }, fullTime(ts));
    return el("tr", {}, el("th", { scope: "row" }, time), ...cells);
  });
  return el(
    "div",
    { class: "scroll values", tabindex: 0, role: "region", "aria-label": `${title}: values` },
    el(
      "table",
      {},
      el("caption", { class: "hidden" }, title),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, `Time (${zone()})`), ...heads)),
      el("tbody", {}, ...rows),
    ),
  );
}

/** Draws into a place of the page. Each series is two lines: what is complete, and dashed what is not, from the last complete point on. */
function draw(place: HTMLElement, series: readonly Drawn[], times: readonly number[], values: Values): uPlotClass {
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const unit: Unit = series[0]?.unit ?? "people";
  const data: (number | null | undefined)[][] = [times.map((ts) => ts / 1000)];
  const lines: uPlotClass.Series[] = [{}];
  series.forEach((one, index) => {
    const stroke = colour(`--c${index % 6}`);
    const own = values[index] ?? [];
    const last = times.findLastIndex((ts, at) => !isUnfinished(one, ts) && own[at] !== undefined);
    data.push(own.map((value, at) => (isUnfinished(one, times[at] as number) ? undefined : value)));
    data.push(own.map((value, at) => (at >= last && value !== undefined ? value : undefined)));
    const open = times.flatMap((ts, at) => (isUnfinished(one, ts) && own[at] !== undefined ? [at] : []));
    const line = { stroke, width: one.earlier ? 1 : 2, spanGaps: false };
    const dots = { show: true, size: 6, fill: colour("--card"), stroke, filter: () => open };
    lines.push({ ...line, dash: one.earlier ? [2, 3] : [], points: { show: false } });
    lines.push({ ...line, dash: [4, 4], points: dots });
  });
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const font = `12px ${style.fontFamily}`;
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most ?? 1) * 1.05 || 1] } },
      axes: [
        { ...axis, font, size: 34, values: (_, splits, __, ___, step) => splits.map((at) => timeMark(at, step)) },
        { ...axis, font, size: 62, values: (_, splits) => splits.map((at) => amount(at, unit)) },
      ],
      series: lines,
    },
    data as uPlotClass.AlignedData,
    place,
  );
  plot.root.setAttribute("aria-hidden", "true");
  return plot;
}

/** What stands at an axis: the hour, the day at midnight and where a step is a day. */
function timeMark(seconds: number, step: number): string {
  const ms = seconds * 1000;
  const hour = clockTime(ms);
  return step >= DAY || hour === "00:00" ? dayOf(ms) : hour;
}

/** A small line of the complete values, without axes. */
export function sparkline(series: Drawn | undefined): Node | string {
  const points = series === undefined ? [] : finished(series);
  if (points.length < 2) return "–";
  const [width, height] = [110, 24];
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const first = points[0]?.ts ?? 0;
  const span = (points.at(-1)?.ts ?? 0) - first || 1;
  const path = points.map(({ ts, value }, index) => {
    const x = ((ts - first) / span) * (width - 2) + 1;
    const y = height - 2 - ((value - least) / (most - least || 1)) * (height - 4);
    return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("path", { d: path.join("") }),
  );
}

/** How a series has changed over the window, by its complete values. */
export function changeOf(series: Drawn | undefined): string {
  if (series === undefined) return "–";
  const points = finished(series);
  return points.length < 2 ? "–" : change(points.at(-1)?.value, points[0]?.value, series.unit);
}
