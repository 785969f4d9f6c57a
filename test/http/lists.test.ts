import { expect } from "chai";
import { refused } from "../support/bad-input.js";
import { collectThrough } from "../support/requests.js";
import { serviceOfSuite, startService } from "../support/service.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2025, 0, 8, 10);

describe("lists that are searched and sorted", () => {
  const service = serviceOfSuite({ roles: ["api"] });

  for (const { path, code, field } of [
    { path: "/api/segment?sort=sise", code: "unknown_sort", field: "sort" },
    { path: "/api/experience?sort=size", code: "unknown_sort", field: "sort" },
    { path: "/api/stream?sort=size", code: "unknown_sort", field: "sort" },
    { path: "/api/series?sort=change", code: "unknown_sort", field: "sort" },
    { path: "/api/deletion?sort=change", code: "unknown_sort", field: "sort" },
    { path: "/api/segment?order=down", code: "unknown_order", field: "order" },
    { path: "/api/segment?sort=change", code: "range_required", field: "range" },
    { path: "/api/stream?sort=movement", code: "range_required", field: "range" },
    { path: "/api/segment?range=1d&startdate=now-1d", code: "range_with_date", field: "range" },
    { path: "/api/experience?startdate=yesterday", code: "invalid_date", field: "startdate" },
    { path: "/api/stream?startdate=2025-01-02&enddate=2025-01-01", code: "end_before_start", field: "enddate" },
    { path: "/api/stream?range=1d&interval=1x", code: "invalid_interval", field: "interval" },
    { path: "/api/stream?range=1d&interval=1d&timezone=Mars", code: "unknown_timezone", field: "timezone" },
    { path: "/api/stream?range=100y&interval=1m", code: "too_many_buckets", field: "interval" },
    { path: "/api/segment?range=1d&interval=1d", code: "unknown_parameter", field: "" },
    { path: "/api/series?startdate=2025-01-02", code: "unknown_parameter", field: "" },
    { path: "/api/segment?range=1x", code: "invalid_range", field: "range" },
    { path: "/api/segment?range=now-1d", code: "invalid_range", field: "range" },
    { path: "/api/segment?range=999999999w", code: "invalid_range", field: "range" },
    { path: `/api/segment?q=${"x".repeat(257)}`, code: "invalid_q", field: "q" },
    { path: "/api/series?range=1d", code: "unknown_parameter", field: "" },
    { path: "/api/deletion?q=a", code: "unknown_parameter", field: "" },
    { path: "/api/deletion?range=1d", code: "unknown_parameter", field: "" },
    { path: "/api/deletion?state=", code: "unknown_state", field: "state" },
    { path: "/api/deletion?state=OPEN", code: "unknown_state", field: "state" },
    { path: "/api/deletion?limit=0", code: "invalid_limit", field: "limit" },
    { path: "/api/segment?sort=size&after=s1", code: "invalid_after", field: "after" },
    { path: "/api/stream?sort=name&after=s1", code: "invalid_after", field: "after" },
    { path: "/api/experience?sort=name&after=s1", code: "invalid_after", field: "after" },
    { path: "/api/series?after=s1", code: "invalid_after", field: "after" },
    { path: "/api/deletion?after=s1", code: "invalid_id", field: "after" },
  ]) {
    it(`are refused for ${path.slice(0, 60)}`, async () => {
      const response = await service.fetch(path);
      const body = (await response.json()) as { errors: { code: string; path: string }[] };
      expect(response.status).to.equal(400);
      expect([body.errors[0]?.code, body.errors[0]?.path]).to.deep.equal([code, field]);
      await refused(service, path, {}, 400);
    });
  }

  it("accept any text as `after` in id order, as ids may be deleted between pages", async () => {
    for (const list of ["segment", "experience", "stream"])
      expect((await service.fetch(`/api/${list}?after=s1`)).status, list).to.equal(200);
  });
});

describe("the list of 5,000 segments", () => {
  it("reads only the slots at both ends of its window", async function () {
    this.timeout(120_000);
    const now = START + HOUR / 2;
    const service = await startService({ roles: ["api"] }, { clock: () => now, onServers: false });
    const ids = Array.from({ length: 5_000 }, (_, i) => `segment-${i}`);
    const message = (at: number) => ({ _uid: "a", segments: { add: ids.slice(at * 1_000, (at + 1) * 1_000) } });
    await collectThrough(service, [0, 1, 2, 3, 4].map(message));
    const write = async (some: readonly string[], value: number) => {
      const series = some.map((dimension_id) => ({ dimension: "segment", dimension_id, dimension_type: "size" }));
      const json = { series, ts: [START, START - DAY], values: some.map((_, i) => [value + i, value]) };
      expect((await service.fetch("/api/metric/points", { method: "POST", json })).status).to.equal(200);
    };
    await write(ids, 1);
    const { series } = service.service.stores;
    const read = series.read.bind(series);
    let slots = 0;
    series.read = (windows, plane) => {
      for (const { series, from, to } of windows) slots += (to - from) / series.dimension.slotMs;
      return read(windows, plane);
    };
    expect((await service.fetch("/api/segment?sort=movement&range=4w")).status).to.equal(200);
    expect(slots / ids.length, "slots read of each segment: those at both ends of the window").to.be.at.most(13);
  });
});
