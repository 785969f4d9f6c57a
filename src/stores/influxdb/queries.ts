import { type FluxParameterLike, flux, fluxDateTime, fluxDuration, fluxExpression } from "@influxdata/influxdb-client";
import { weightedBatches } from "../../async/weighted-batches.js";
import { timeText } from "../../formats/instant.js";
import type { Dimension } from "../../metrics/dimensions.js";
import { type SeriesWindow, settingSources, type ValueSource } from "../../metrics/ports.js";
import { seriesKey } from "../../metrics/series.js";
import { fieldOf, ORDER_TAG, SOURCE_TAG } from "./lines.js";

/** Series of one dimension to read over one window. */
export interface SlotQuery {
  readonly dimension: Dimension;
  readonly from: number;
  readonly to: number;
  /** The windows that it covers, by the key of their series. */
  readonly windows: ReadonlyMap<string, readonly PlacedWindow[]>;
}

/** A window, and its place among the windows of a read. */
export interface PlacedWindow extends SeriesWindow {
  readonly place: number;
}

/** The first and the last instant that the server can store, Unix ms. */
export const FIRST = 0;
export const LAST = Date.UTC(2262, 0, 1);

/** Approximate maximum characters of the ids of a query. Each counts as many more, which limits the number of ids. */
const MAX_CHARACTERS = 65_536;
const CHARACTERS_PER_SERIES = 300;

/** Maximum unneeded slots that a query may read to save another query. */
const SPARE = 20_000;

/** Returns a few queries, one of which covers each window that has a slot. */
export function slotQueries(windows: readonly SeriesWindow[]): SlotQuery[] {
  const placed = windows.map(({ series, from, to }, place) => ({ series, from, to, place }));
  return [...groupBy(placed, ({ series }) => series.dimension.name).values()].flatMap((ofDimension) =>
    spansOf(ofDimension).flatMap(boundedQueries),
  );
}

interface Span extends SlotQuery {
  to: number;
  readonly windows: Map<string, PlacedWindow[]>;
  /** Requested slots. */
  slots: number;
}

/** Merges windows of one dimension that are equal or so close that few unneeded slots are read. */
function spansOf(windows: readonly PlacedWindow[]): Span[] {
  const spans: Span[] = [];
  const equal = [...groupBy(windows, ({ from, to }) => `${from} ${to}`).values()].map(spanOf);
  for (const span of equal.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from)) {
    const last = spans.at(-1);
    if (last === undefined || !extended(last, span)) spans.push(span);
  }
  return spans;
}

function spanOf(equal: readonly PlacedWindow[]): Span {
  const [{ series, from, to }] = equal as readonly [PlacedWindow];
  const { dimension } = series;
  const windows = groupBy(equal, (window) => seriesKey(window.series));
  const slots = (windows.size * (to - from)) / dimension.slotMs;
  return { from: Math.max(FIRST, from), to: Math.min(LAST, to), dimension, windows, slots };
}

/** Extends a span by a later one and returns true, unless too many unneeded slots would be read. */
function extended(span: Span, later: Span): boolean {
  const to = Math.max(span.to, later.to);
  let series = span.windows.size;
  for (const key of later.windows.keys()) if (!span.windows.has(key)) series += 1;
  const slots = span.slots + later.slots;
  if ((series * (to - span.from)) / span.dimension.slotMs > slots + SPARE) return false;
  span.to = to;
  span.slots = slots;
  for (const [key, windows] of later.windows) {
    const placed = span.windows.get(key);
    if (placed === undefined) span.windows.set(key, windows);
    else placed.push(...windows);
  }
  return true;
}

/** Splits a span into queries of bounded size. The types of one id stay together. */
function boundedQueries({ dimension, from, to, windows }: Span): SlotQuery[] {
  const byId = [...windows].map(([key, placed]) => ({ key, placed, id: placed[0]?.series.id ?? "" }));
  byId.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const batches = weightedBatches(byId, MAX_CHARACTERS, ({ id }) => CHARACTERS_PER_SERIES + id.length);
  return Array.from(batches, (batch) => {
    return { dimension, from, to, windows: new Map(batch.map(({ key, placed }) => [key, placed])) };
  });
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
  return slotsScript(bucket, query, isOneOf(query.windows), source);
}

/** In: a type of a dimension, and a window. Out: the rows of all its series, in the form of `fluxScript`. */
export function sumScript(bucket: string, query: Omit<SlotQuery, "windows">, type: string): string {
  return slotsScript(bucket, query, oneOf("dimension_type", [type]));
}

/**
 * In: a query of slots. Out: the added points of each series, in the form of `fluxScript` and with their source and
 * order. The points of a series and source follow each other.
 */
export function addedScript(bucket: string, query: SlotQuery): string {
  const columns = [...SUM_COLUMNS, SOURCE_TAG];
  return flux`${pointsIn(bucket, query, isOneOf(query.windows), ["added"])}
  |> group(columns: ${["dimension_id", "dimension_type", SOURCE_TAG]})
  |> keep(columns: ${columns})`.toString();
}

const SLOT_COLUMNS = ["_time", "_value", "_field", "dimension_id", "dimension_type"];
const SUM_COLUMNS = [...SLOT_COLUMNS, ORDER_TAG];

/** `wanted` is the Flux condition of the rows. */
function slotsScript(bucket: string, query: Omit<SlotQuery, "windows">, wanted: string, source?: ValueSource): string {
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
  { dimension, from, to }: Omit<SlotQuery, "windows">,
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
function isOneOf(windows: SlotQuery["windows"]): string {
  const series = [...windows.values()].flatMap(([window]) => window?.series ?? []);
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
