import { type FluxParameterLike, flux, fluxDateTime, fluxDuration, fluxExpression } from "@influxdata/influxdb-client";
import { timeText } from "../../formats/instant.js";
import type { Dimension } from "../../metrics/dimensions.js";
import { type SeriesWindow, settingSources, type ValueSource } from "../../metrics/ports.js";
import { type Series, seriesKey } from "../../metrics/series.js";
import { fieldOf, ORDER_TAG, SOURCE_TAG } from "./lines.js";

/** Series of one dimension to read over one window. */
export interface SlotQuery {
  readonly dimension: Dimension;
  readonly from: number;
  readonly to: number;
  /** Without duplicates. */
  readonly series: readonly Series[];
}

/** The first and the last instant that the server can store, Unix ms. */
export const FIRST = 0;
export const LAST = Date.UTC(2262, 0, 1);

/** Maximum series of one query, and approximate maximum characters of their ids. */
const MAX_SERIES = 200;
const MAX_CHARACTERS = 65_536;

/** Maximum unneeded slots that a query may read to save another query. */
const SPARE = 20_000;

/**
 * Maximum number of different windows for which no query reads the gap between two windows of one series, because the
 * gap is probably cached.
 */
const MAX_UNBRIDGED_WINDOWS = 4;

/** Returns a few queries that together cover all of these windows. */
export function slotQueries(windows: readonly SeriesWindow[]): SlotQuery[] {
  return [...groupBy(windows, ({ series }) => series.dimension.name).values()].flatMap((ofDimension) =>
    spansOf(ofDimension).flatMap(boundedQueries),
  );
}

/** Returns the places of the windows by the query that covers them: each window has one; none if it is empty. */
export function windowsByQuery(windows: readonly SeriesWindow[]): Map<SlotQuery, number[]> {
  const places = new Map<SlotQuery, number[]>();
  const queries = slotQueries(windows).flatMap((query) => query.series.map((series) => ({ query, series })));
  const ofSeries = groupBy(queries, ({ series }) => seriesKey(series));
  for (const { query } of queries) places.set(query, []);
  for (const [place, { series, from, to }] of windows.entries()) {
    const covers = ({ query }: { readonly query: SlotQuery }) =>
      query.from <= Math.max(FIRST, from) && query.to >= Math.min(LAST, to);
    const found = ofSeries.get(seriesKey(series))?.find(covers);
    if (found !== undefined) places.get(found.query)?.push(place);
  }
  return places;
}

interface Span {
  from: number;
  to: number;
  readonly dimension: Dimension;
  readonly series: Map<string, Series>;
  /** Requested slots. */
  slots: number;
}

/** Merges windows of one dimension that are equal or so close that few unneeded slots are read. */
function spansOf(windows: readonly SeriesWindow[]): Span[] {
  const spans: Span[] = [];
  const same = [...groupBy(windows, ({ from, to }) => `${from} ${to}`).values()].map(spanOf);
  const mayBridge = same.length > MAX_UNBRIDGED_WINDOWS;
  for (const span of same.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = spans.at(-1);
    if (last === undefined || !isWorthwhile(last, span, mayBridge)) spans.push(span);
    else extend(last, span);
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

/**
 * Returns whether merging two spans reads few unneeded slots. Unless `mayBridge`, it must not read a gap between two
 * windows of one series.
 */
function isWorthwhile(a: Span, b: Span, mayBridge: boolean): boolean {
  const length = (Math.max(a.to, b.to) - Math.min(a.from, b.from)) / a.dimension.slotMs;
  let series = a.series.size;
  for (const key of b.series.keys()) if (!a.series.has(key)) series += 1;
  if (!mayBridge && b.from > a.to && series < a.series.size + b.series.size) return false;
  return length * series <= a.slots + b.slots + SPARE;
}

function extend(onto: Span, span: Span): void {
  onto.from = Math.min(onto.from, span.from);
  onto.to = Math.max(onto.to, span.to);
  onto.slots += span.slots;
  for (const [key, series] of span.series) onto.series.set(key, series);
}

/** Splits a span into queries of bounded size. The types of one id stay together. */
function boundedQueries({ dimension, from, to, series }: Span): SlotQuery[] {
  const ordered = [...series.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const queries: { dimension: Dimension; from: number; to: number; series: Series[] }[] = [];
  let characters = 0;
  for (const one of ordered) {
    const query = queries.at(-1);
    if (query === undefined || query.series.length === MAX_SERIES || characters + one.id.length > MAX_CHARACTERS) {
      queries.push({ dimension, from, to, series: [one] });
      characters = one.id.length;
    } else {
      query.series.push(one);
      characters += one.id.length;
    }
  }
  return queries;
}

export function groupBy<T>(items: readonly T[], groupOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = groupOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * In: a query of slots. Out: rows of `_time`, `_value`, `_field`, `dimension_id` and `dimension_type`: the points of
 * each series in the source, or in all sources, and the points of a field in the order of time. The added points of a
 * slot are a row for each of their sources and orders, with the tag of the order: their sum, at the start of the slot.
 */
export function fluxScript(bucket: string, query: SlotQuery, source?: ValueSource): string {
  return slotsScript(bucket, query, isOneOf(query.series), source);
}

/** In: a type of a dimension, and a window. Out: the rows of all its series, in the form of `fluxScript`. */
export function sumScript(bucket: string, query: Omit<SlotQuery, "series">, type: string): string {
  return slotsScript(bucket, query, oneOf("dimension_type", [type]));
}

/**
 * In: a query of slots. Out: the added points of each series, in the form of `fluxScript` and with their source and
 * order. The points of a series and source follow each other.
 */
export function addedScript(bucket: string, query: SlotQuery): string {
  const columns = [...SUM_COLUMNS, SOURCE_TAG];
  return flux`${pointsIn(bucket, query, isOneOf(query.series), ["added"])}
  |> group(columns: ${["dimension_id", "dimension_type", SOURCE_TAG]})
  |> keep(columns: ${columns})`.toString();
}

const SLOT_COLUMNS = ["_time", "_value", "_field", "dimension_id", "dimension_type"];
const SUM_COLUMNS = [...SLOT_COLUMNS, ORDER_TAG];

/** `wanted` is the Flux condition of the rows. */
function slotsScript(bucket: string, query: Omit<SlotQuery, "series">, wanted: string, source?: ValueSource): string {
  const scripts: string[] = [];
  if (source !== "added") {
    const set = pointsIn(bucket, query, wanted, source === undefined ? settingSources : [source]);
    scripts.push(
      flux`${set}
  |> keep(columns: ${SLOT_COLUMNS})
  |> yield(name: "set")`.toString(),
    );
  }
  if (source === undefined || source === "added") {
    const every = fluxDuration(`${query.dimension.slotMs}ms`);
    scripts.push(
      flux`${pointsIn(bucket, query, wanted, ["added"])}
  |> aggregateWindow(every: ${every}, fn: sum, createEmpty: false, timeSrc: "_start")
  |> keep(columns: ${SUM_COLUMNS})
  |> yield(name: "added")`.toString(),
    );
  }
  return scripts.join("\n");
}

/** The points of these sources, as a part of a script. */
function pointsIn(
  bucket: string,
  { dimension, from, to }: Omit<SlotQuery, "series">,
  wanted: string,
  sources: readonly ValueSource[],
): FluxParameterLike {
  const [start, stop] = [Math.max(FIRST, from), Math.min(LAST, to)].map((ms) => fluxDateTime(timeText(ms)));
  const fields = sources.map((source) => fieldOf[source]);
  const script = flux`from(bucket: ${fluxText(bucket)})
  |> range(start: ${start}, stop: ${stop})
  |> filter(fn: (r) => r._measurement == ${fluxText(dimension.name)} and (${fluxExpression(oneOf("_field", fields))}))
  |> filter(fn: (r) => ${fluxExpression(wanted)})`;
  return fluxExpression(script.toString());
}

/** Returns the condition of the rows of these series. */
function isOneOf(series: readonly Series[]): string {
  // Each id is compared once: comparing it for each of its types takes the server 50 % longer.
  const typesOf = [...groupBy(series, ({ id }) => id)].map(([id, ofId]) => [id, ofId.map(({ type }) => type)] as const);
  const wanted = [...groupBy(typesOf, ([, types]) => [...types].sort().join()).values()].map((group) => {
    const types = group[0]?.[1] ?? [];
    const ids = group.map(([id]) => id);
    return `((${oneOf("dimension_type", types)}) and (${oneOf("dimension_id", ids)}))`;
  });
  return anyOf(wanted);
}

/**
 * In: a dimension and a type. Out: the ids of its series that have a point, a row each in `_value`. It reads only the
 * index, which a filter on fields would prevent.
 */
export function idsScript(bucket: string, dimension: string, type: string): string {
  const [start, stop] = [FIRST, LAST].map((ms) => fluxDateTime(timeText(ms)));
  return flux`from(bucket: ${fluxText(bucket)})
  |> range(start: ${start}, stop: ${stop})
  |> filter(fn: (r) => r._measurement == ${fluxText(dimension)} and r.dimension_type == ${fluxText(type)})
  |> keep(columns: ["dimension_id"])
  |> group()
  |> distinct(column: "dimension_id")`.toString();
}

/**
 * Comparisons are pushed down to the storage engine; `contains()` would read every series. A long chain is refused as
 * nested too deeply, so it is a balanced tree.
 */
function oneOf(tag: "_field" | "dimension_id" | "dimension_type", values: readonly string[]): string {
  return anyOf(values.map((value) => `r.${tag} == ${flux`${fluxText(value)}`}`));
}

function anyOf(clauses: readonly string[]): string {
  if (clauses.length <= 4) return clauses.join(" or ");
  const middle = clauses.length >> 1;
  return `(${anyOf(clauses.slice(0, middle))}) or (${anyOf(clauses.slice(middle))})`;
}

/**
 * Returns a text literal. A dollar sign is escaped by its code, as the output of `fluxString` for `$${` is no valid
 * literal.
 */
function fluxText(text: string): FluxParameterLike {
  return fluxExpression(`"${text.replace(/["\\]/g, "\\$&").replaceAll("$", "\\x24")}"`);
}
