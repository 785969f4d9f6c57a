import type { Dimension } from "../../metrics/dimensions/dimension.js";
import { type Series, seriesKey } from "../../metrics/series.js";
import type { SeriesWindow } from "../../metrics/series-store.js";

/** Series of one dimension to read over one window. */
export interface SlotQuery {
  readonly dimension: Dimension;
  readonly from: number;
  readonly to: number;
  /** Each once. */
  readonly series: readonly Series[];
}

/** What the server has no number for lies outside of these moments, Unix ms. */
const FIRST = 0;
const LAST = Date.UTC(2262, 0, 1);

/** The most series of one query, and about the most characters of their ids. */
const MOST_SERIES = 200;
const MOST_CHARACTERS = 65_536;

/** Slots that a query may read in vain where that saves another one. */
const SPARE = 20_000;

/** Few queries that read at least all of these windows. */
export function slotQueries(windows: readonly SeriesWindow[]): SlotQuery[] {
  return [...groupBy(windows, ({ series }) => series.dimension.name).values()].flatMap((ofDimension) =>
    spansOf(ofDimension).flatMap(piecesOf),
  );
}

interface Span {
  from: number;
  to: number;
  readonly dimension: Dimension;
  readonly series: Map<string, Series>;
  /** Slots asked for. */
  slots: number;
}

/** Windows of one dimension, put together where they are the same or lie so close that little is read in vain. */
function spansOf(windows: readonly SeriesWindow[]): Span[] {
  const spans: Span[] = [];
  const same = [...groupBy(windows, ({ from, to }) => `${from} ${to}`).values()].map(spanOf);
  for (const span of same.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = spans.at(-1);
    if (last === undefined || !isWorthwhile(last, span)) spans.push(span);
    else lay(span, last);
  }
  return spans;
}

function spanOf(windows: readonly SeriesWindow[]): Span {
  const [{ series: first, from, to }] = windows as [SeriesWindow];
  const series = new Map(windows.map((window) => [seriesKey(window.series), window.series]));
  const { dimension } = first;
  const slots = (series.size * (to - from)) / dimension.slotMs;
  return { from: Math.max(FIRST, from), to: Math.min(LAST, to), dimension, series, slots };
}

/** Whether two spans together read little more than each by itself. */
function isWorthwhile(a: Span, b: Span): boolean {
  const length = (Math.max(a.to, b.to) - Math.min(a.from, b.from)) / a.dimension.slotMs;
  let series = a.series.size;
  for (const key of b.series.keys()) if (!a.series.has(key)) series += 1;
  return length * series <= a.slots + b.slots + SPARE;
}

function lay(span: Span, onto: Span): void {
  onto.from = Math.min(onto.from, span.from);
  onto.to = Math.max(onto.to, span.to);
  onto.slots += span.slots;
  for (const [key, series] of span.series) onto.series.set(key, series);
}

/** A span in queries of bounded size. The types of one id stay beside each other. */
function piecesOf({ dimension, from, to, series }: Span): SlotQuery[] {
  const ordered = [...series.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const pieces: { dimension: Dimension; from: number; to: number; series: Series[] }[] = [];
  let characters = 0;
  for (const one of ordered) {
    const piece = pieces.at(-1);
    if (piece === undefined || piece.series.length === MOST_SERIES || characters + one.id.length > MOST_CHARACTERS) {
      pieces.push({ dimension, from, to, series: [one] });
      characters = one.id.length;
    } else {
      piece.series.push(one);
      characters += one.id.length;
    }
  }
  return pieces;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
