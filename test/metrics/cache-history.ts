import { expect } from "chai";
import fc from "fast-check";
import { NewConnections, YieldBudget } from "../../src/async/yielding.js";
import { Answers } from "../../src/http/metrics/answers.js";
import { experience, HOUR, segment, stream } from "../../src/metrics/dimensions.js";
import { planes } from "../../src/metrics/ports.js";
import { fetchBatch } from "../../src/metrics/query/fetch-batch.js";
import { type FetchSeries, fetchSeries } from "../../src/metrics/query/fetch-series.js";
import { seriesPlan } from "../../src/metrics/query/series-plan.js";
import { type AskedSeries, seriesRequest } from "../../src/metrics/query/series-request.js";
import type { Series } from "../../src/metrics/series.js";
import {
  type Caches,
  largeCaches,
  type MetricReader,
  noCaches,
  openMetricReader,
  unboundReading,
  valuesOf,
} from "./metric-reader.js";

const begin = Date.parse("2024-03-01T00:00:00Z");

const series: Series[] = [
  { dimension: stream, id: "a", type: "size" },
  { dimension: stream, id: "b", type: "size" },
  { dimension: segment, id: "a", type: "size" },
  { dimension: experience, id: "a", type: "actualreach" },
  { dimension: experience, id: "a", type: "potentialreach" },
];

const write = fc.record({
  kind: fc.constant("write" as const),
  plane: fc.constantFrom(...planes),
  columns: fc.array(
    fc.record({
      series: fc.constantFrom(...series),
      hoursAgo: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 1_200 })),
      values: fc.array(fc.oneof(fc.integer({ min: -9, max: 99 }), fc.constant(Number.NaN)), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const query = fc.record({
  kind: fc.constant("query" as const),
  asked: fc
    .record({
      names: fc.constantFrom(
        { dimension: "stream", id: "a", type: "size" },
        { dimension: "stream", id: "b", type: "size" },
        { dimension: "segsize", id: "a", type: "size" },
        { dimension: "experience", id: "a", type: "conversionrate" },
        { dimension: "experience", id: "a", type: "actualreach" },
      ),
      interval: fc.constantFrom("1h", "2h", "1d", "15m"),
      range: fc.constantFrom("4h", "4h", "2d", "5w"),
      smooth: fc.boolean(),
      fillEmpty: fc.boolean(),
    })
    .map(({ names, ...rest }): AskedSeries => ({ ...names, ...rest })),
});
const wait = fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 0, max: 90 }) });
const step = fc.oneof({ weight: 3, arbitrary: write }, { weight: 6, arbitrary: query }, { weight: 1, arbitrary: wait });

/** Caches of several sizes, each of which has ways of its own to be wrong. */
export const cacheSizes = [
  { what: "large caches", cache: largeCaches, seed: 1 },
  { what: "caches that hold hardly anything", cache: { columns_bytes: 9_000, answers_bytes: 9_000 }, seed: 2 },
  { what: "a cache of answers alone", cache: { ...largeCaches, columns_bytes: 1 }, seed: 3 },
  { what: "a cache of columns alone", cache: { ...largeCaches, answers_bytes: 1 }, seed: 4 },
];

/**
 * Plays a random history of writes, late ones too, and queries. Each answer has to equal that of a reader without a cache, and to
 * say truly whether the store was read.
 */
export async function compareHistory(
  cache: Caches,
  steps: number,
  seed: number,
  compared: Comparison = comparison,
): Promise<void> {
  const reader = await openMetricReader({ cache });
  let now = begin;
  let cached = 0;
  try {
    const compare = compared(reader, cache);
    for (const action of fc.sample(step, { numRuns: steps, seed })) {
      if (action.kind === "wait") now += action.minutes * 60_000;
      if (action.kind === "write") {
        await reader.write(
          action.columns.map(({ series, hoursAgo, values }) => {
            const { slotMs } = series.dimension;
            const from = Math.floor((now - hoursAgo * HOUR) / slotMs) * slotMs;
            return { series, from, values: Float64Array.from(values) };
          }),
          action.plane,
        );
      }
      if (action.kind === "query" && (await compare(action.asked, now))) cached += 1;
    }
    expect(cached).to.be.greaterThan(steps / 200);
  } finally {
    await reader.close();
  }
}

type Comparison = (reader: MetricReader, cache: Caches) => (asked: AskedSeries, now: number) => Promise<boolean>;

/** Asks with and without a cache; hands out whether the cache answered. */
function comparison(reader: MetricReader): (asked: AskedSeries, now: number) => Promise<boolean> {
  const { epochs } = reader;
  const { series: store } = reader.stores;
  const plain = fetchSeries({
    store,
    epochs,
    cache: noCaches,
    budget: new YieldBudget(new NewConnections()),
    deadlineMs: 5_000,
  });

  return async (asked, now) => {
    const reads = reader.reads();
    const [answer] = await reader.fetch([asked], now);
    const [truth] = await plain([seriesPlan(seriesRequest(asked, now), now)], now, unboundReading());
    if (answer === undefined || truth === undefined) throw new Error("no answer");
    expect(valuesOf(answer)).to.deep.equal(valuesOf(truth));
    expect([answer.completeUntil, answer.nextSaveAt]).to.deep.equal([truth.completeUntil, truth.nextSaveAt]);
    expect(answer.isCached).to.equal(reader.reads() === reads);
    return answer.isCached;
  };
}

/** The same with whole answers as callers get them, each question in the same words every time it is asked. */
export function comparisonOfAnswers(
  reader: MetricReader,
  cache: Caches,
): (asked: AskedSeries, now: number) => Promise<boolean> {
  const { epochs, stores } = reader;
  let now = begin;
  const answersBy = (fetch: FetchSeries, bytes: number) => {
    const answers = new Answers({ epochs, clock: () => now, count: () => {}, bytes });
    const batch = fetchBatch({
      fetch,
      limits,
      keep: () => undefined,
      count: () => {},
      deadlineMs: 5_000,
      firstSegments: async () => [],
    });
    return (asked: AskedSeries) =>
      answers.to({
        text: JSON.stringify(asked),
        tagged: true,
        fetch: (at) =>
          batch(
            [
              { asked, at: "" },
              { asked: { ...asked, id: "b" }, at: "" },
            ],
            at,
            unboundReading(),
          ),
      });
  };
  const kept = answersBy(reader.fetchPlans, cache.answers_bytes);
  const plain = answersBy(
    fetchSeries({
      store: stores.series,
      epochs,
      cache: noCaches,
      budget: new YieldBudget(new NewConnections()),
      deadlineMs: 5_000,
    }),
    1,
  );

  return async (asked, at) => {
    now = at;
    const reads = reader.reads();
    const answer = await kept(asked);
    const wasRead = reader.reads() > reads;
    const truth = await plain(asked);
    const [given, expected] = [dataOf(answer.body()), dataOf(truth.body())];
    expect(given.map((series) => ({ ...series, is_cached: false }))).to.deep.equal(expected);
    expect(answer.tag()).to.equal(truth.tag());
    expect(given.every(({ is_cached }) => is_cached)).to.equal(!wasRead);
    return !wasRead;
  };
}

const limits = { buckets: 11_000, answer_values: 200_000, answer_slots: 5_000_000 };

function dataOf(body: Buffer): { is_cached: boolean }[] {
  return JSON.parse(body.toString()).data;
}
