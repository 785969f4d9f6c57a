import { expect } from "chai";
import { cpuMs } from "../support/cpu-time.js";
import { serviceOfSuite } from "../support/service.js";

const now = Date.parse("2024-02-29T10:00:00Z");
const HOUR = 3_600_000;

/** Every limit of one request: one below, at the limit, one above (P15). */
describe("a metric request", () => {
  const service = serviceOfSuite({}, { clock: () => now });

  async function post(json: unknown): Promise<{ status: number; code: string | undefined; values: number }> {
    const answer = await service.fetch("/api/metric", { method: "POST", json });
    const { data, errors } = (await answer.json()) as {
      data: { values: unknown[]; errors?: { code: string }[] }[] | null;
      errors?: { code: string }[];
    };
    const code = (errors ?? data?.flatMap((series) => series.errors ?? []))?.[0]?.code;
    const values = data?.reduce((sum, series) => sum + series.values.length, 0) ?? 0;
    return { status: answer.status, code, values };
  }

  /** A window of whole hours that ends now. */
  const item = (hours: number, rest: object = {}) => ({
    dimension: "stream",
    dimension_id: "web",
    dimension_type: "size",
    interval: "1h",
    startdate: now - hours * HOUR,
    include_empty_rows: true,
    ...rest,
  });

  it("is limited by both parts of a rate and by the slots before the window that smoothing reads", async () => {
    const rate = { dimension: "experience", dimension_type: "conversionrate", interval: "1000h" };
    const half = Array.from({ length: 100 }, (_, i) => item(25_000, { ...rate, dimension_id: `e${i}` }));
    expect((await post(half)).status).to.equal(200);
    expect((await post(half.map((each) => ({ ...each, smooth: true })))).code).to.equal("too_many_slots");
  });

  for (const [count, status] of [
    [999, 200],
    [1_000, 200],
    [1_001, 400],
  ] as const) {
    it(`for all of ${count} segments is ${status}, and 200 as an item of a batch`, async () => {
      const segments = Array.from({ length: count }, (_, i) => `s${String(i).padStart(4, "0")}`);
      const messages = [0, 600].map((from) => ({
        _uid: "member",
        segments: { add: segments.slice(from, from + 600) },
      }));
      const collected = await service.fetch("/collect/json/web", { method: "POST", json: messages });
      expect(collected.status).to.equal(200);
      const every = { dimension: "segsize", dimension_id: "all_segments", dimension_type: "size" };
      const query = new URLSearchParams({ ...every, range: "2h" });
      const alone = await service.fetch(`/api/metric?${query}`);
      const { data, errors } = (await alone.json()) as { data: { dimension_id: string }[] | null; errors?: object[] };
      expect(alone.status).to.equal(status);
      const batch = await service.fetch("/api/metric", { method: "POST", json: [item(1), every, item(1)] });
      expect(batch.status).to.equal(200);
      const series = ((await batch.json()) as { data: { dimension_id: string; values: unknown[] }[] }).data;
      if (status === 200) {
        expect(data?.map(({ dimension_id }) => dimension_id)).to.deep.equal(segments);
        expect(series.slice(1, -1).map(({ dimension_id }) => dimension_id)).to.deep.equal(segments);
      } else {
        const message = "The catalogue holds more than 1000 segments; request them by their ids";
        const issue = { code: "too_many_segments", message };
        expect([data, errors]).to.deep.equal([null, [{ ...issue, path: "dimension_id" }]]);
        expect(series).to.have.length(3);
        expect(series[1]).to.deep.equal({ ...every, values: [], errors: [{ ...issue, path: "[1].dimension_id" }] });
      }
    });
  }

  it("for 31 million buckets is refused without work", async () => {
    const spent = await cpuMs(async () => {
      expect((await post(item(1, { interval: "1m", startdate: "1966-01-01" }))).code).to.equal("too_many_buckets");
    });
    expect(spent).to.be.below(500);
  });
});
