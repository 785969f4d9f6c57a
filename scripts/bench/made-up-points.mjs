// The points of the benchmark, made by a formula, so that every answer can be checked against it.
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** The value of a series in an hour (counted from 1970): a whole number from 1 to 1000. */
function valueAt(series, hour) {
  return ((series * 7919 + hour * 31 + Math.floor(hour / 24) * 3) % 1000) + 1;
}

/** What names a series, in the words of the wire. */
export function nameOf(series, prefix = "bench") {
  return { dimension: "stream", dimension_id: `${prefix}-${series}`, dimension_type: "size" };
}

/** The hours [from, to), Unix ms, that have points: whole days before today. */
export function filledTime(days, now) {
  const to = Math.floor(now / DAY) * DAY;
  return { from: to - days * DAY, to };
}

/** Points of the series [first, end) in the hours [from, to) as bodies of blocks, one at a time: `{ body, points }`, each with about `most` points. */
export function* blocks({ first = 0, end, from, to, most = 48_000, hours = (to - from) / HOUR, prefix }) {
  for (let start = from; start < to; start += hours * HOUR) {
    const ts = Array.from({ length: Math.min(hours, (to - start) / HOUR) }, (_, i) => start + i * HOUR);
    const rows = Math.max(1, Math.floor(most / ts.length));
    for (let at = first; at < end; at += rows) {
      const some = Array.from({ length: Math.min(rows, end - at) }, (_, i) => at + i);
      const values = some.map((series) => ts.map((time) => valueAt(series, time / HOUR)));
      const series = some.map((one) => nameOf(one, prefix));
      yield { body: JSON.stringify({ series, ts, values }), points: some.length * ts.length };
    }
  }
}

/** The same points in the order in which they would arrive, hour by hour over all series, `size` at a time: `[{ series, ts, value }]`. */
export function* arrivals({ end, from, to, size }) {
  let batch = [];
  for (let ts = from; ts < to; ts += HOUR) {
    for (let series = 0; series < end; series += 1) {
      batch.push({ series, ts, value: valueAt(series, ts / HOUR) });
      if (batch.length === size) {
        yield batch;
        batch = [];
      }
    }
  }
  if (batch.length > 0) yield batch;
}

/** The values that an answer has to have for a series in [from, to) by buckets of `hours`, as the formula says. */
export function expectedValues(series, { from, to, hours, aggregation }) {
  const join = aggregation === "sum" ? (a, b) => a + b : (a, b) => Math.max(a, b);
  const values = [];
  for (let start = from; start < to; start += hours * HOUR) {
    const each = Array.from({ length: hours }, (_, i) => valueAt(series, start / HOUR + i));
    values.push({ value: each.reduce(join), ts: String(start) });
  }
  return values;
}
