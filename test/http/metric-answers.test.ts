import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { type MetricResponse, ResponseCache } from "../../src/http/metrics/response-cache.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import { type FetchBatch, fetchBatch } from "../../src/metrics/query/fetch.js";
import { type MetricReader, openMetricReader, unboundReading } from "../metrics/metric-reader.js";
import { HeldCalls } from "../support/held-calls.js";

const start = Date.parse("2024-02-29T10:30:00Z");
const views = { dimension: stream, id: "views", type: "size" };
const asked = { dimension: "stream", id: "views", type: "size", interval: "1h", range: "5d", fillEmpty: true };

describe("a cached metric response", () => {
  let now: number;
  let reader: MetricReader;
  let reads: HeldCalls;
  let responses: ResponseCache;
  let fetches: number;
  let counted: [series: number, cached: number];

  beforeEach(async () => {
    now = start;
    reads = new HeldCalls();
    reader = await openMetricReader({
      between: (store) => ({ ...store, read: (windows) => reads.around(() => store.read(windows), "read") }),
    });
    await reader.save(views, now - 1.5 * HOUR, 5);
    fetches = 0;
    counted = [0, 0];
    const count = (series: number, cached: number) => {
      counted = [counted[0] + series, counted[1] + cached];
    };
    const firstSegments = async () => [];
    const countSeries = async () => 1;
    const retention = () => undefined;
    const fetchOf = fetchBatch({
      read: reader.readPlans,
      maxValues: 200_000,
      retention,
      count,
      countSeries,
      firstSegments,
    });
    fail = undefined;
    const fetch: FetchBatch = async (...all) => {
      fetches += 1;
      const failing = fail;
      const batch = await fetchOf(...all);
      failing?.();
      return batch;
    };
    responses = new ResponseCache({
      fetch,
      generations: reader.generations,
      clock: () => now,
      count,
      memory: reader.memory,
    });
  });

  /** Makes fetches that begin while it is set fail. */
  let fail: (() => void) | undefined;
  const ask = async (reading = unboundReading()): Promise<MetricResponse> => {
    const request = { text: "views", tagged: true };
    return responses.get(request) ?? responses.fetch(request, [{ asked, at: "" }], reading);
  };
  const seen = (answer: MetricResponse) => {
    const [series] = JSON.parse(answer.body.toString()).data;
    const sum = series.values.reduce((total: number, { value }: { value: number }) => total + value, 0);
    return [sum, series.is_cached];
  };

  it("is read once for 1,000 concurrent equal requests, stored at the next ones, and then not fetched again (P17)", async () => {
    const polls = () => Promise.all(Array.from({ length: 1_000 }, () => ask()));
    const cold = await polls();
    expect([fetches, reads.count, new Set(cold).size, ...counted]).to.deep.equal([1, 1, 1, 1_000, 0]);
    expect(seen(cold[0] as MetricResponse)).to.deep.equal([5, false]);
    const warm = await polls();
    expect([fetches, reads.count, new Set(warm).size, ...counted]).to.deep.equal([2, 1, 1, 2_000, 1_000]);
    expect(new Set([...warm, ...(await polls())]).size).to.equal(1);
    expect([fetches, ...counted]).to.deep.equal([2, 3_000, 2_000]);
    expect(seen(warm[0] as MetricResponse)).to.deep.equal([5, true]);
    expect(warm[0]?.tag).to.equal(cold[0]?.tag);
  });

  it("contains writes acknowledged before the request, also if an earlier read is in progress (P18)", async () => {
    const reached = reads.hold();
    const early = ask();
    await reached;
    await reader.save(views, now - 2.5 * HOUR, 70);
    const late = [ask(), ask(), ask()];
    reads.release();
    await early;
    for (const answer of await Promise.all(late)) expect(seen(answer)).to.deep.equal([75, false]);
    expect(fetches).to.equal(2);
    expect(seen(await ask())).to.deep.equal([75, true]);
  });

  it("is fetched again for requests that shared the fetch of a disconnected caller (P16)", async () => {
    const reached = reads.hold();
    fail = () => {
      throw new ServiceError("timed-out", "The caller has gone");
    };
    const gone = ask().catch((error: unknown) => error);
    fail = undefined;
    await reached;
    const others = [ask(), ask(), ask()];
    reads.release();
    expect(await gone).to.be.instanceOf(ServiceError);
    for (const answer of await Promise.all(others)) expect(seen(answer)[0]).to.equal(5);
    expect(fetches).to.equal(2);
  });

  it("is fetched again for requests that shared the fetch of a request whose deadline passed", async () => {
    const reached = reads.hold();
    let isLate = false;
    const first = new MemoryBudget(Number.POSITIVE_INFINITY).open(
      () => {},
      () => !isLate,
    );
    const late = ask(first).catch((error: unknown) => error);
    await reached;
    const others = [ask(), ask()];
    isLate = true;
    reads.release();
    expect(await late).to.have.property("kind", "timed-out");
    for (const answer of await Promise.all(others)) expect(seen(answer)[0]).to.equal(5);
  });

  it("is not stored if its fetch fails: concurrent requests fail together, and the next one fetches again", async () => {
    fail = () => {
      throw new ServiceError("unavailable", "A store is away");
    };
    const polls = await Promise.allSettled(Array.from({ length: 100 }, () => ask()));
    fail = undefined;
    expect(polls.filter(({ status }) => status === "rejected")).to.have.length(100);
    expect(fetches).to.equal(1);
    expect(seen(await ask())[0]).to.equal(5);
  });

  it("is compressed once, and not for its first request", async () => {
    expect((await ask()).gzip).to.equal(undefined);
    const [one, other] = await Promise.all([ask(), ask()]);
    const small = await one?.gzip?.();
    expect(await other?.gzip?.()).to.equal(small);
    expect(await (await ask()).gzip?.()).to.equal(small);
    expect(gunzipSync(small as Buffer).equals(one?.body as Buffer)).to.equal(true);
    await reader.save(views, now - 2.5 * HOUR, 70);
    expect((await ask()).gzip).to.equal(undefined);
    const later = await (await ask()).gzip?.();
    expect(JSON.parse(gunzipSync(later as Buffer).toString()).data[0].is_cached).to.equal(true);
    expect(later).not.to.equal(small);
  });
});
