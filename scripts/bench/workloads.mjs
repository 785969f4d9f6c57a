// The measured requests and their expected answers.
import { DAY, expectedValues, nameOf } from "./synthetic-points.mjs";

const asked = {
  W1: { series: 20, days: 7, hours: 2, aggregation: "sum" },
  W2: { series: 100, days: 30, hours: 6, aggregation: "max" },
  W3: { series: 1, days: 60, hours: 24, aggregation: "sum" },
};

export const READS = Object.keys(asked);

/** Returns a read, reduced to the available series and days, of the series from `first` on. */
export function readWorkload(name, seriesCount, filled, first = 0) {
  const { days, hours, aggregation, ...one } = asked[name];
  const series = Math.min(one.series, seriesCount);
  const window = { from: Math.max(filled.from, filled.to - days * DAY), to: filled.to, hours, aggregation };
  const label = `${name}: ${series} series, ${(window.to - window.from) / DAY} d, ${hours}h, ${aggregation}`;
  return { label, ...windowWorkload(window, { series, first }) };
}

/** Returns a read of a window `{ from, to, hours, aggregation }`: `{ request, check, window, series }`. */
export function windowWorkload(window, { series, first = 0, prefix }) {
  return {
    request: post(itemsOf(series, first, { ...window, ...datesOf(window), prefix })),
    check: (body) => compare(JSON.parse(body).data, series, window, first),
    window,
    series,
  };
}

/** Returns W1 over `count` batches spread over all series; they overlap if there are few series. */
export function w1Batches(count, seriesCount, filled) {
  const { series } = readWorkload("W1", seriesCount, filled);
  const places = seriesCount - series + 1;
  const step = Math.max(1, Math.floor(places / count));
  return Array.from({ length: count }, (_, i) => readWorkload("W1", seriesCount, filled, (i * step) % places));
}

/** Returns W1 as `range: "7d"` up to now. Only the buckets of filled days are checked. */
export function movingWorkload(seriesCount, filled) {
  const { days, hours, aggregation, ...one } = asked.W1;
  const series = Math.min(one.series, seriesCount);
  return {
    label: `W5: ${series} series, range ${days}d, ${hours}h, ${aggregation}, while points come`,
    request: post(itemsOf(series, 0, { range: `${days}d`, hours, aggregation })),
    check(body) {
      const { data } = JSON.parse(body);
      const isFilled = ({ ts }) => Number(ts) >= filled.from && Number(ts) + hours * 3_600_000 <= filled.to;
      const known = data.map((item) => ({ values: item.values.filter(isFilled) }));
      const from = Number(known[0]?.values[0]?.ts ?? filled.to);
      return compare(known, series, { from, to: filled.to, hours, aggregation }, 0);
    },
  };
}

/** Returns the GET of one series over all days; with its ETag the response is 304. */
export function getWorkload(filled) {
  const window = { ...filled, hours: 24, aggregation: "sum" };
  const [item] = itemsOf(1, 0, { ...window, ...datesOf(window) });
  return {
    label: `GET: 1 series, ${(filled.to - filled.from) / DAY} d, 24h, answered 304`,
    request: { method: "GET", path: `/api/metric?${new URLSearchParams(item)}` },
    check: (body) => compare(JSON.parse(body).data, 1, window, 0),
  };
}

function post(items) {
  return { method: "POST", path: "/api/metric", body: JSON.stringify(items) };
}

function datesOf({ from, to }) {
  return { startdate: String(from), enddate: String(to) };
}

function itemsOf(series, first, { hours, aggregation, range, startdate, enddate, prefix }) {
  return Array.from({ length: series }, (_, i) => ({
    ...nameOf(first + i, prefix),
    ...(range === undefined ? { startdate, enddate } : { range }),
    interval: `${hours}h`,
    aggregation,
  }));
}

/** Returns the number of values compared with the formula; throws at the first difference. */
function compare(data, series, window, first) {
  let count = 0;
  for (let i = 0; i < series; i += 1) {
    const expected = expectedValues(first + i, window);
    if (JSON.stringify(data[i]?.values) !== JSON.stringify(expected)) {
      throw new Error(`the answer about series ${first + i} is not what the formula says`);
    }
    count += expected.length;
  }
  return count;
}
