import type { Series } from "../../metrics/series.js";
import type { Rejections } from "../rejections.js";
import { type Slot, seriesOfKey, slotOfKey } from "./slot-table.js";

/** Points of one request, by series, then by time. */
export interface Batch {
  readonly points: readonly BatchPoint[];
}

export interface BatchPoint {
  readonly series: Series;
  /** Start of the slot, Unix ms. */
  readonly ts: number;
  readonly value: number;
  readonly origin: number;
}

/** The most points and about the most bytes of a request. */
const POINTS = 50_000;
const BYTES = 8_000_000;

/** What a point takes up at most when it is written out, beside its id. */
const POINT_BYTES = 120;

/** Cuts slots into batches that a request may hold. A sum that has left the range of numbers is rejected. */
export function* batches(slots: Iterable<Slot>, series: readonly Series[], rejections: Rejections): Generator<Batch> {
  let points: BatchPoint[] = [];
  let bytes = 0;
  for (const { key, value, origin } of slots) {
    if (!Number.isFinite(value)) {
      rejections.add(origin, { code: "invalid_value", message: "the values of its slot add up to no finite number" });
      continue;
    }
    const one = series[seriesOfKey(key)] as Series;
    points.push({ series: one, ts: slotOfKey(key) * one.dimension.slotMs, value, origin });
    bytes += POINT_BYTES + 3 * one.id.length;
    if (points.length < POINTS && bytes < BYTES) continue;
    yield { points };
    points = [];
    bytes = 0;
  }
  if (points.length > 0) yield { points };
}

/** A batch as a request body: a block where that is small, else an array. */
export interface EncodedBatch {
  readonly body: string;
  /** The times that the positions in the service's error paths stand for. */
  readonly times: readonly number[];
}

export function encodeBatch({ points }: Batch): EncodedBatch {
  const times = [...new Set(points.map(({ ts }) => ts))].sort((a, b) => a - b);
  const columns = columnsOf(points);
  if (columns.length * times.length <= 3 * points.length) return { body: block(columns, times), times };
  return { body: JSON.stringify(points.map(flat)), times: points.map(({ ts }) => ts) };
}

/** Stretches of points of one series. */
function columnsOf(points: readonly BatchPoint[]): BatchPoint[][] {
  const columns: BatchPoint[][] = [];
  for (const point of points) {
    const column = columns.at(-1);
    if (column?.[0]?.series === point.series) column.push(point);
    else columns.push([point]);
  }
  return columns;
}

function block(columns: readonly BatchPoint[][], times: readonly number[]): string {
  const values = columns.map((column) => {
    let next = 0;
    return times.map((ts) => (column[next]?.ts === ts ? (column[next++] as BatchPoint).value : null));
  });
  return JSON.stringify({ series: columns.map(([first]) => names((first as BatchPoint).series)), ts: times, values });
}

function flat({ series, ts, value }: BatchPoint): object {
  return { ...names(series), value, ts };
}

function names({ dimension, id, type }: Series): object {
  return { dimension: dimension.name, dimension_id: id, dimension_type: type };
}
