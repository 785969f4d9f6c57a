// What is asked of every server: the requests that are measured, and what their answers have to be.
import { expectedValues, nameOf } from "./made-up-points.mjs";

const DAY = 86_400_000;
const asked = [
  { name: "W1", series: 20, days: 7, hours: 2, aggregation: "sum" },
  { name: "W2", series: 100, days: 30, hours: 6, aggregation: "max" },
  { name: "W3", series: 1, days: 60, hours: 24, aggregation: "sum" },
];

/** W1 to W3, cut down to the series and days that there are: `{ label, request, check }`. */
export function readWorkloads(seriesCount, filled) {
  return asked.map((one) => {
    const series = Math.min(one.series, seriesCount);
    const from = Math.max(filled.from, filled.to - one.days * DAY);
    const window = { from, to: filled.to, hours: one.hours, aggregation: one.aggregation };
    const length = `${(filled.to - from) / DAY} d`;
    return {
      label: `${one.name}: ${series} series, ${length}, ${one.hours}h, ${one.aggregation}`,
      request: { method: "POST", path: "/api/metric", body: JSON.stringify(itemsOf(series, window)) },
      check: (body) => checkAnswer(body, series, window),
    };
  });
}

/** W1 over other series, from `first` on: `{ label, request, check, window, series }`. */
export function w1Of(first, seriesCount, filled) {
  const [one] = asked;
  const series = Math.min(one.series, seriesCount);
  const window = {
    from: Math.max(filled.from, filled.to - one.days * DAY),
    to: filled.to,
    hours: one.hours,
    aggregation: one.aggregation,
  };
  return {
    label: `${one.name}: ${series} series, ${(window.to - window.from) / DAY} d, ${one.hours}h, ${one.aggregation}`,
    request: { method: "POST", path: "/api/metric", body: JSON.stringify(itemsOf(series, window, first)) },
    check: (body) => checkAnswer(body, series, window, first),
    window,
    series,
  };
}

/** The GET of one series over all days; with the tag of its answer it is answered 304. */
export function getWorkload(filled) {
  const window = { ...filled, hours: 24, aggregation: "sum" };
  const [item] = itemsOf(1, window);
  return {
    label: `GET: 1 series, ${(filled.to - filled.from) / DAY} d, 24h, answered 304`,
    request: { method: "GET", path: `/api/metric?${new URLSearchParams(item)}` },
    check: (body) => checkAnswer(body, 1, window),
  };
}

function itemsOf(series, { from, to, hours, aggregation }, first = 0) {
  return Array.from({ length: series }, (_, i) => ({
    ...nameOf(first + i),
    startdate: String(from),
    enddate: String(to),
    interval: `${hours}h`,
    aggregation,
  }));
}

/** Returns how many values were compared with the formula; throws at one that differs. */
function checkAnswer(body, series, window, first = 0) {
  const { data } = JSON.parse(body);
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
