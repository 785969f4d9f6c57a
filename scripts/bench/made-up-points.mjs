// The points of the benchmark, made by a formula, so that every answer can be checked against it.
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Points in one block: below what a write may hold. */
const BLOCK_POINTS = 48_000;

/** The value of a series in an hour (counted from 1970): a whole number from 1 to 1000. */
function valueAt(series, hour) {
  return ((series * 7919 + hour * 31 + Math.floor(hour / 24) * 3) % 1000) + 1;
}

/** What names a series, in the words of the wire. */
export function nameOf(series) {
  return { dimension: "stream", dimension_id: `bench-${series}`, dimension_type: "size" };
}

/** The hours [from, to), Unix ms, that have points: whole days before today. */
export function filledTime(days, now) {
  const to = Math.floor(now / DAY) * DAY;
  return { from: to - days * DAY, to };
}

/** All points as bodies of blocks, one at a time: `{ body, points }`. */
export function* blocks(seriesCount, { from, to }) {
  const ts = Array.from({ length: (to - from) / HOUR }, (_, i) => from + i * HOUR);
  const rows = Math.max(1, Math.floor(BLOCK_POINTS / ts.length));
  for (let first = 0; first < seriesCount; first += rows) {
    const some = Array.from({ length: Math.min(rows, seriesCount - first) }, (_, i) => first + i);
    const values = some.map((series) => ts.map((at) => valueAt(series, at / HOUR)));
    yield { body: JSON.stringify({ series: some.map(nameOf), ts, values }), points: some.length * ts.length };
  }
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
