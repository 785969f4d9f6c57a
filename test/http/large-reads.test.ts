import { expect } from "chai";
import type { SeriesStore } from "../../src/metrics/ports.js";
import { gaugeOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const web = { dimension: "stream", dimension_type: "size" };

/** The largest batch that is admitted: a hundred series over 2,080 days. */
const largest = (id: string) =>
  Array.from({ length: 100 }, (_, i) => ({ ...web, dimension_id: `${id}${i}`, range: "2080d", interval: "2d" }));

describe("P28: large reads", () => {
  let series: SeriesStore;
  /** Windows that were asked of the store so far. */
  let windows: number;
  /** Releases reads of the store, which wait while it is set. */
  let release: (() => void) | undefined;
  let hold: () => void;

  const service = serviceOfSuite({ limits: { read_bytes: 2 ** 20 }, cache: { bytes: 0 }, roles: ["api"] });
  before(async () => {
    const ts = Date.now() - HOUR;
    const points = largest("s").map(({ dimension_id }, i) => ({ ...web, dimension_id, ts, value: i }));
    await writePoints(service, points);
    series = service.service.stores.series;
    const { read } = series;
    let held = Promise.resolve();
    hold = () => {
      held = new Promise((resolve) => {
        release = resolve;
      });
    };
    series.read = async (asked) => {
      windows += asked.length;
      await held;
      return read(asked);
    };
  });
  beforeEach(async () => {
    await until("what earlier reads took is given back", async () => (await gauge("metric_read_bytes")) === 0);
    windows = 0;
  });
  afterEach(() => release?.());

  const post = (json: unknown, signal?: AbortSignal) =>
    service.fetch("/api/metric", { method: "POST", json, ...(signal === undefined ? {} : { signal }) });
  const gauge = (name: string) => gaugeOf(service, name);

  it("share a limit of memory: one more is refused with 503 and Retry-After until the others are answered", async () => {
    hold();
    const first = post(largest("s"));
    await until("the first read is under way", () => windows > 0);
    const second = await post(largest("s").map((item) => ({ ...item, range: "2078d" })));
    expect([second.status, Number(second.headers.get("retry-after")) >= 1]).to.deep.equal([503, true]);
    release?.();
    const { data } = (await (await first).json()) as { data: { values: { value: number }[] }[] };
    expect(data.map(({ values }) => values.map(({ value }) => value))).to.deep.equal(data.map((_, i) => [i]));
    await until("what the reads took is given back", async () => (await gauge("metric_read_bytes")) === 0);
    expect((await post(largest("s").map((item) => ({ ...item, range: "2079d" })))).status).to.equal(200);
  });

  it("stop when the caller disconnects", async () => {
    hold();
    const caller = new AbortController();
    const gone = post(
      largest("s").map((item) => ({ ...item, range: "2000d" })),
      caller.signal,
    ).catch(() => {});
    await until("the read is under way", () => windows > 0);
    caller.abort();
    await gone;
    await until("the service has seen that", async () => (await gauge("metric_read_bytes")) === 0);
    release?.();
    await until("nothing is under way", async () => (await gauge("http_requests_under_way")) <= 1);
    expect(windows).to.be.below(50);
  });

  it("let /health respond between their parts", async () => {
    let isDone = false;
    let answered = 0;
    const reads = Promise.all(
      Array.from({ length: 8 }, (_, i) => post(largest("s").map((item) => ({ ...item, range: `${2070 - i}d` })))),
    ).then((answers) => {
      isDone = true;
      return answers;
    });
    while (!isDone) {
      expect((await service.fetch("/health")).status).to.equal(200);
      if (!isDone) answered += 1;
    }
    expect((await reads).every(({ status }) => status === 200 || status === 503)).to.equal(true);
    expect(answered).to.be.at.least(5);
  });

  describe("of series without points", () => {
    it("read no store and reserve no memory that others need", async () => {
      hold();
      const first = post(largest("s").map((item) => ({ ...item, range: "1990d" })));
      await until("another read is under way", () => windows > 0);
      const before = windows;
      const absent = await Promise.all(Array.from({ length: 16 }, (_, i) => post(largest(`absent-${i}-`))));
      expect(absent.map(({ status }) => status)).to.deep.equal(Array(16).fill(200));
      for (const answer of absent) {
        const { data } = (await answer.json()) as { data: { values: unknown[]; is_cached: boolean }[] };
        expect(data.every(({ values, is_cached }) => values.length === 0 && !is_cached)).to.equal(true);
      }
      expect(windows).to.equal(before);
      release?.();
      expect((await first).status).to.equal(200);
    });
  });
});
