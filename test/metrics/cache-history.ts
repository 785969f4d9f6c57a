import { expect } from "chai";
import fc from "fast-check";
import { CacheMemory } from "../../src/cache-memory.js";
import { composeSeries } from "../../src/compose/series.js";
import { noFailpoint } from "../../src/failpoint.js";
import { openMeters } from "../../src/meters.js";
import { HOUR } from "../../src/metrics/dimensions.js";
import type { SeriesStore } from "../../src/metrics/ports.js";
import type { Recorder } from "../../src/metrics/recorder/recorder.js";
import { seriesKey } from "../../src/metrics/series.js";
import { EVERY_STREAM } from "../../src/reserved-names.js";
import type { Stores } from "../../src/stores/stores.js";
import { newEntityId } from "../support/commits.js";
import { endsWithTest } from "../support/ends-with-test.js";
import { newMemory, serveRoutes } from "../support/routes-alone.js";
import { settingsFor } from "../support/service.js";
import { temporaryStores } from "../support/stores.js";
import { type Caches, largeCaches, noCaches } from "./metric-reader.js";
import { join, receive, seriesOf, tickAll } from "./recorder-fixture.js";

const MINUTE = 60_000;
const DAY = 24 * HOUR;
/** Clocks change in Berlin on March 31, and a month before the 29th to the 31st is limited to February 29. */
const begin = Date.parse("2024-03-27T00:00:00Z");

/** Sizes of the cache: each has its own ways to be wrong. Half of the histories have a retention. */
export const cacheSizes = [
  { what: "a large cache", cache: largeCaches, retention: null, seed: 1 },
  { what: "a cache that holds hardly anything", cache: { bytes: 9_000 }, retention: "3d", seed: 2 },
  { what: "a cache of a few columns or responses", cache: { bytes: 40_000 }, retention: null, seed: 3 },
  { what: "a cache that holds half of them", cache: { bytes: 200_000 }, retention: "3d", seed: 4 },
];

export interface HistoryOptions {
  readonly cache: Caches;
  readonly retention: string | null;
  readonly seed: number;
}

/**
 * Plays a random history of the routes and the recorder, as `compose` joins them: writes of clients, messages, members,
 * ticks of the recorder, a clock that jumps over the edges of slots and days in both directions, and queries. Each
 * response has to equal, apart from `is_cached`, the response without caches; `is_cached` has to be true if and only if
 * no store was read for the series.
 */
export async function compareHistory({ cache, retention, seed }: HistoryOptions, steps: number): Promise<void> {
  const stores = await temporaryStores();
  const read = new Set<string>();
  let now = begin;
  const service = await openSeriesService(
    { ...stores, series: noting(stores.series, read) },
    cache,
    retention,
    () => now,
  );
  const plain = await openSeriesService(stores, noCaches, retention, () => now);
  let cached = 0;
  let asked = 0;
  let items: readonly Names[] = [readable[0] as Names];

  const play = async (action: Action) => {
    if (action.kind === "wait") now += action.minutes * MINUTE;
    if (action.kind === "jump") now = (Math.floor(now / action.unit) + action.units) * action.unit + action.ms;
    if (action.kind === "tick") await tickAll(service.recorder);
    if (action.kind === "receive") await receive(stores, action.stream, now - action.minutesAgo * MINUTE);
    if (action.kind === "join") await join(stores, action.segment, [newEntityId()]);
    if (action.kind === "write") {
      const points = action.columns.flatMap(({ names, hoursAgo, values }) =>
        values.map((value, i) => ({ ...names, value, ts: now - (hoursAgo - i) * HOUR })),
      );
      // A point that is refused changes nothing.
      expect((await service.post("/api/metric/points", points)).status).to.be.oneOf([200, 400]);
    }
    if (action.kind === "query" || action.kind === "poll") {
      // A dashboard mostly repeats its requests.
      items = action.kind === "query" ? action.items : items;
      read.clear();
      const answer = await service.ask(items);
      const isRead = items.map(({ dimension, dimension_id, dimension_type }) =>
        partsOf(dimension_type).some((type) => read.has(seriesKey(seriesOf(dimension, dimension_id, type)))),
      );
      const truth = await plain.ask(items);
      expect({ ...answer, isCached: [] }).to.deep.equal({ ...truth, isCached: [] });
      if (answer.status === 200) expect(answer.isCached).to.deep.equal(isRead.map((one) => !one));
      asked += isRead.length;
      cached += answer.isCached.filter(Boolean).length;
    }
  };

  await stores.catalogue.putSegment({ id: "a", name: "A", table: "user" });
  await stores.catalogue.putSegment({ id: "b", name: "B", table: "user" });
  await stores.catalogue.putExperience({ id: "a", name: "A", group: "g", audience: "a", goal: "b" });
  for (const [n, action] of fc.sample(step, { numRuns: steps, seed }).entries()) {
    await play(action).catch((error: Error) => {
      error.message = `step ${n}, ${JSON.stringify(action)} at ${new Date(now).toISOString()}: ${error.message}`;
      throw error;
    });
  }
  // A history in which nothing, or everything, is cached shows nothing.
  expect(cached).to.be.within(asked / 20, asked * 0.95);
}

const written = [
  { dimension: "stream", dimension_id: "a", dimension_type: "size" },
  { dimension: "segment", dimension_id: "a", dimension_type: "size" },
  { dimension: "experience", dimension_id: "a", dimension_type: "actualreach" },
  { dimension: "experience", dimension_id: "a", dimension_type: "potentialreach" },
];
const readable = [
  ...written,
  { dimension: "stream", dimension_id: "b", dimension_type: "size" },
  { dimension: "stream", dimension_id: EVERY_STREAM, dimension_type: "size" },
  { dimension: "segsize", dimension_id: "b", dimension_type: "size" },
  { dimension: "experience", dimension_id: "a", dimension_type: "conversionrate" },
  { dimension: "experiencegroup", dimension_id: "g", dimension_type: "conversionrate" },
];

const write = fc.record({
  kind: fc.constant("write" as const),
  columns: fc.array(
    fc.record({
      names: fc.constantFrom(...written),
      hoursAgo: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 1_200 })),
      values: fc.array(fc.integer({ min: -9, max: 99 }), { minLength: 1, maxLength: 5 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const receiving = fc.record({
  kind: fc.constant("receive" as const),
  stream: fc.constantFrom("a", "b"),
  minutesAgo: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 6_000 })),
});
const joining = fc.record({ kind: fc.constant("join" as const), segment: fc.constantFrom("a", "b") });
const tick = fc.record({ kind: fc.constant("tick" as const) });
const wait = fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 0, max: 90 }) });
/** To the edge of an hour, a slot of segments or a day, a millisecond before it or after it. */
const jump = fc.record({
  kind: fc.constant("jump" as const),
  unit: fc.constantFrom(HOUR, 2 * HOUR, DAY),
  units: fc.integer({ min: -2, max: 3 }),
  ms: fc.integer({ min: -1, max: 1 }),
});
const sameTime = {
  interval: fc.constantFrom("1h", "2h", "1d", "15m", "1mo"),
  timezone: fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kolkata"),
  include_empty_rows: fc.boolean(),
  smooth: fc.boolean(),
};
const windows = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("4h", "4h", "2d", "5w", "1mo").map((range) => ({ range })) },
  { weight: 1, arbitrary: fc.constantFrom({ startdate: "now-7h", enddate: "now-2h" }, { startdate: "now-1mo" }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: -4, max: 4 }), fc.integer({ min: 1, max: 4 }))
      .map(([from, days]) => ({ startdate: begin + from * DAY, enddate: begin + (from + days) * DAY })),
  },
);
const query = fc.record({
  kind: fc.constant("query" as const),
  items: fc
    .tuple(fc.constantFrom(...readable), fc.option(fc.constantFrom(...readable)), fc.record(sameTime), windows)
    .map(([first, second, options, window]) => {
      const items = second === null || sharesStored(first, second) ? [first] : [first, second];
      return items.map((names) => ({ ...names, ...options, ...window }));
    }),
});
const poll = fc.record({ kind: fc.constant("poll" as const) });
const step = fc.oneof(
  { weight: 3, arbitrary: write },
  { weight: 2, arbitrary: receiving },
  { weight: 1, arbitrary: joining },
  { weight: 3, arbitrary: tick },
  { weight: 1, arbitrary: wait },
  { weight: 1, arbitrary: jump },
  { weight: 5, arbitrary: query },
  { weight: 5, arbitrary: poll },
);

type Action = typeof step extends fc.Arbitrary<infer T> ? T : never;

type Names = (typeof readable)[number];

/** Whether a read of one may be a read of the other. */
function sharesStored(a: Names, b: Names): boolean {
  return seriesOf(a.dimension, "").dimension === seriesOf(b.dimension, "").dimension;
}

function partsOf(type: string): string[] {
  return type === "conversionrate" ? ["actualreach", "potentialreach"] : [type];
}

/** The same store, which records all reads. Finding that a series does not exist counts as a read. */
function noting(store: SeriesStore, read: Set<string>): SeriesStore {
  return {
    ...store,
    mayHold(series) {
      const may = store.mayHold(series);
      if (!may) read.add(seriesKey(series));
      return may;
    },
    read(windows, source) {
      for (const { series } of windows) read.add(seriesKey(series));
      return store.read(windows, source);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tag: string | null;
  readonly isCached: readonly boolean[];
}

export interface ComposedSeries {
  readonly recorder: Recorder;
  post(path: string, json: unknown): Promise<Response>;
  /** One item by GET, which has an ETag, several by POST. */
  ask(items: readonly object[]): Promise<Answer>;
}

/** The routes and the recorder of the series, as `compose` makes them, over these stores. */
export async function openSeriesService(
  stores: Stores,
  cache: Caches,
  retention: string | null,
  clock: () => number,
): Promise<ComposedSeries> {
  const settings = settingsFor("unused", { metrics: { retention } });
  const meters = openMeters();
  const series = composeSeries({
    settings,
    stores,
    clock,
    memory: newMemory(),
    cache: new CacheMemory(cache.bytes),
    version: "0",
    meters,
    failpoint: noFailpoint,
  });
  endsWithTest(async () => series.close());
  const { port } = await serveRoutes(series.routes, { meters });
  const url = `http://127.0.0.1:${port}`;
  const headers = { "content-type": "application/json" };
  const post = (path: string, json: unknown) =>
    fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(json) });

  return {
    recorder: series.recorder,
    post,
    async ask(items) {
      const query = () =>
        new URLSearchParams(
          Object.entries(items[0] ?? {}).map(([name, value]): [string, string] => [name, `${value}`]),
        );
      const response =
        items.length === 1
          ? await fetch(`${url}/api/metric?${query()}`, { headers })
          : await post("/api/metric", items);
      const isCached: boolean[] = [];
      const body = (await response.text()).replaceAll(/"is_cached":(true|false)/g, (_, value) => {
        isCached.push(value === "true");
        return '"is_cached":…';
      });
      return { status: response.status, body, tag: response.headers.get("etag"), isCached };
    },
  };
}
