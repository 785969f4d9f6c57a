import { eachAtOnce } from "../../async/each-at-once.js";
import { ApiError, type Points, type StoredSeries } from "../../client/client.js";
import { timeText } from "../../formats/instant.js";
import type { Series } from "../../metrics/series.js";
import { counted } from "../progress.js";
import { endedAt, type LineIssue, type Rejections, type Sending } from "../send-files.js";
import { type Slot, seriesOfKey, slotOfKey } from "./slot-aggregator.js";

/** Points of one request, by series, then by time. */
type Batch = readonly BatchPoint[];

interface BatchPoint {
  readonly series: Series;
  /** Start of the slot, Unix ms. */
  readonly ts: number;
  readonly value: number;
  readonly origin: number;
}

/** Maximum points and approximate bytes of a request. */
const POINTS = 50_000;
const BYTES = 8_000_000;

/** Maximum serialized bytes of a point besides its id. */
const POINT_BYTES = 120;

/** Splits slots into batches of one request each. Rejects a sum that is no longer finite. */
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
    yield points;
    points = [];
    bytes = 0;
  }
  if (points.length > 0) yield points;
}

/** Concurrent requests. */
const MAX_CONCURRENT = 3;

/**
 * Sends every batch and resolves with the number of written points. `total` is the number of slots. Stops at the first
 * error.
 */
export function sendBatches(batches: Iterable<Batch>, total: number, sending: Sending): Promise<number> {
  return sending.stage("sending", { unit: "slot", total }, async (progress) => {
    const underWay: Batch[] = [];
    const refusedTimes = new RefusedTimes();
    let sent = 0;
    try {
      await eachAtOnce(batches, MAX_CONCURRENT, async (batch) => {
        underWay.push(batch);
        const written = await sendBatch(batch, refusedTimes, sending);
        sent += written;
        underWay.splice(underWay.indexOf(batch), 1);
        progress.update(sent);
      });
    } catch (error) {
      throw endedAt(placeOf(underWay[0], sent), error, sending.signal);
    }
    return sent;
  });
}

/** Sends a batch and resolves with the number of written points. Points that the service refuses become rejections. */
async function sendBatch(batch: Batch, refused: RefusedTimes, sending: Sending): Promise<number> {
  const points = batch.filter((point) => {
    const issue = refused.issueOf(point.ts);
    if (issue !== undefined) sending.rejections.add(point.origin, issue);
    return issue === undefined;
  });
  if (points.length === 0) return 0;
  const { body, times } = encodeBatch(points);
  const error = await sending.client.writePoints(body, { signal: sending.signal }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error === undefined) return points.length;
  if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 413)) throw error;
  if (error.status === 413) {
    if (points.length === 1) throw error;
    return sendHalves(points, refused, sending);
  }
  const learnt = error.issues.filter(({ code, path }) =>
    refused.learn(code, times[Number(/\[(\d+)\]/.exec(path)?.[1])]),
  );
  if (learnt.length > 0) return sendBatch(points, refused, sending);
  if (points.length > 1) return sendHalves(points, refused, sending);
  const issue = error.issues[0] ?? { code: "refused", message: "the service refused it" };
  for (const { origin } of points) sending.rejections.add(origin, issue);
  return 0;
}

async function sendHalves(points: readonly BatchPoint[], refused: RefusedTimes, sending: Sending): Promise<number> {
  const middle = points.length >> 1;
  const first = await sendBatch(points.slice(0, middle), refused, sending);
  return first + (await sendBatch(points.slice(middle), refused, sending));
}

/** A batch as a request body: a block if that is compact, otherwise an array. */
interface EncodedBatch {
  readonly body: Points;
  /** Times by position in the service's error paths. */
  readonly times: readonly number[];
}

function encodeBatch(points: Batch): EncodedBatch {
  const times = [...new Set(points.map(({ ts }) => ts))].sort((a, b) => a - b);
  const columns = columnsOf(points);
  if (columns.length * times.length <= 3 * points.length) return { body: block(columns, times), times };
  return { body: points.map(flat), times: points.map(({ ts }) => ts) };
}

/** Groups consecutive points of one series. */
function columnsOf(points: readonly BatchPoint[]): BatchPoint[][] {
  const columns: BatchPoint[][] = [];
  for (const point of points) {
    const column = columns.at(-1);
    if (column?.[0]?.series === point.series) column.push(point);
    else columns.push([point]);
  }
  return columns;
}

function block(columns: readonly BatchPoint[][], times: readonly number[]): Points {
  const values = columns.map((column) => {
    let next = 0;
    return times.map((ts) => (column[next]?.ts === ts ? (column[next++] as BatchPoint).value : null));
  });
  return { series: columns.map(([first]) => names((first as BatchPoint).series)), ts: [...times], values };
}

function flat({ series, ts, value }: BatchPoint) {
  return { ...names(series), value, ts };
}

function names({ dimension, id, type }: Series): StoredSeries {
  // `writableSeries` created the series and validated its type.
  return { dimension: dimension.name, dimension_id: id, dimension_type: type } as StoredSeries;
}

/**
 * Range of times that the service refuses. The service reports only some of them, so earlier or later times count as
 * refused too.
 */
class RefusedTimes {
  #notAfter = Number.NEGATIVE_INFINITY;
  #notBefore = Number.POSITIVE_INFINITY;

  /** Extends the range by the time that an error refuses; returns false for other errors. */
  learn(code: string, ms: number | undefined): boolean {
    if (ms === undefined) return false;
    if (code === "before_retention" || code === "too_old") this.#notAfter = Math.max(this.#notAfter, ms);
    else if (code === "too_far_ahead") this.#notBefore = Math.min(this.#notBefore, ms);
    else return false;
    return true;
  }

  issueOf(ms: number): LineIssue | undefined {
    if (ms <= this.#notAfter)
      return { code: "before_retention", message: "its time is older than the retention of the service" };
    if (ms >= this.#notBefore) return { code: "too_far_ahead", message: "its time is more than 10 minutes ahead" };
    return undefined;
  }
}

function placeOf(batch: Batch | undefined, sent: number): string {
  const again = "Running the same command again is safe: points already written do not change";
  const first = batch?.[0];
  if (first === undefined || sent === 0) return `No slot was confirmed as written. ${again}`;
  const { series, ts } = first;
  const place = `${series.dimension.name} ${series.id} ${series.type} at ${timeText(ts)}`;
  return `Written: ${counted(sent, "slot")}, all before ${place}. ${again}`;
}
