import { expect } from "chai";
import { pointOf, valuesOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
/** In the second hour of a slot of two hours. */
const NOW = Math.floor(Date.now() / (2 * HOUR)) * 2 * HOUR - HOUR / 2;
/** The hour before the current one. */
const AT = NOW - HOUR - HOUR / 2;

describe("added points", () => {
  const service = serviceOfSuite({}, { clock: () => NOW });
  let id: string;
  let tests = 0;
  beforeEach(() => {
    tests += 1;
    id = `added-${tests}`;
  });

  const point = (value: number, ms = 0, more: object = {}) => ({ ...pointOf("stream", id, value, AT + ms), ...more });
  const post = (path: string, body: string, type: string) =>
    service.fetch(path, { method: "POST", body, headers: { "content-type": type } });
  const add = async (points: object) => {
    const answer = await post("/api/metric/points?mode=add", JSON.stringify(points), "application/json");
    expect(answer.status, await answer.text()).to.equal(200);
  };
  const lines = (texts: readonly string[], query = "bucket=add") =>
    post(`/api/v2/write?org=-&${query}`, texts.join("\n"), "text/plain");
  const line = (tags: string, value: number, ns = "000000", ms = AT) =>
    `stream,dimension_id=${id}${tags} value=${value} ${ms}${ns}`;
  const addLines = async (...texts: string[]) => expect((await lines(texts)).status).to.equal(204);
  const values = async (dimension_id = id, dimension = "stream") => {
    const window = { startdate: AT, enddate: AT + 2 * HOUR, interval: "1h" };
    return (await valuesOf(service, { dimension, dimension_id, ...window })).map(([ts, value]) => [
      (ts - AT) / HOUR,
      value,
    ]);
  };

  it("are summed up in their slot, in JSON, as NDJSON and as a block, and are visible at once", async () => {
    await add([point(1), point(2, 1), point(0.5, HOUR)]);
    expect(await values()).to.deep.equal([
      [0, 3],
      [1, 0.5],
    ]);
    const ndjson = [point(4, 2), point(8, 3, { source: "a" })].map((one) => JSON.stringify(one)).join("\n");
    expect((await post("/api/metric/points?mode=add", ndjson, "application/x-ndjson")).status).to.equal(200);
    const { value, ts, ...series } = point(16, 4);
    await add({ series: [series], ts: [ts, ts + 1, ts + HOUR], values: [[value, 32, null]] });
    expect(await values()).to.deep.equal([
      [0, 63],
      [1, 0.5],
    ]);
    const all = (await values("all_streams")) as [number, number][];
    expect(all[0]?.[1]).to.be.at.least(63);
  });

  it("are counted once, however often and with whatever else they are sent", async () => {
    const batch = [point(1), point(2, 1), point(4, 0, { source: "b" })];
    for (const points of [batch, batch, [...batch.slice(1), point(8, 2)], [point(8, 2), ...batch]]) await add(points);
    expect(await values()).to.deep.equal([[0, 15]]);
    await add([point(3, 1)]);
    expect(await values(), "replaced").to.deep.equal([[0, 16]]);
  });

  it("in line protocol differ by their other tags, in any order, and their nanosecond", async () => {
    const first = line(",host=a,cpu=1", 1, "000001");
    await addLines(first, line(",host=b,cpu=1", 2, "000001"), line("", 4, "000001"), line("", 8, "000002"));
    await addLines(line(",cpu=1,host=a", 1, "000001"), line(",host=b", 16, "000001"), first);
    expect(await values()).to.deep.equal([[0, 31]]);
    for (const precision of ["us", "ms", "s"] as const) {
      const time = { us: `${AT}000`, ms: `${AT}`, s: `${AT / 1000}` }[precision];
      const text = `stream,dimension_id=${id} value=32 ${time}`;
      expect((await lines([text], `bucket=add&precision=${precision}`)).status).to.equal(204);
    }
    expect(await values(), "one instant in each precision").to.deep.equal([[0, 63]]);
  });

  it("without a timestamp are all counted when they arrive", async () => {
    const text = `stream,dimension_id=${id} value=1`;
    await addLines(text, text);
    await addLines(text);
    expect(await values()).to.deep.equal([[1, 3]]);
  });

  it("are accepted until 48 hours after the end of their slot", async () => {
    const hours = (count: number) => -count * HOUR;
    const accepted = pointOf("segment", id, 1, NOW - HOUR / 2 - 49 * HOUR);
    await add([point(1, hours(47)), accepted]);
    const late = { ...accepted, dimension: "stream" };
    const answer = await service.fetch("/api/metric/points?mode=add", { method: "POST", json: [point(1), late] });
    expect(answer.status).to.equal(400);
    expect(await answer.json()).to.have.nested.property("errors[0].code", "before_retention");
    expect(await values()).to.deep.equal([]);
    await writePoints(service, [late]);
  });

  for (const [what, path, body, code] of [
    ["another mode", "/api/metric/points?mode=set", () => [point(1)], "invalid_mode"],
    ["a mode given twice", "/api/metric/points?mode=add&mode=add", () => [point(1)], "duplicate"],
    ["a source of a point that is set", "/api/metric/points", () => [point(1, 0, { source: "a" })], "unknown_field"],
    ["a source that is no text", "/api/metric/points?mode=add", () => [point(1, 0, { source: 1 })], "invalid_source"],
    [
      "a source with a control character",
      "/api/metric/points?mode=add",
      () => [point(1, 0, { source: "a\n" })],
      "invalid_source",
    ],
    [
      "a source that is too long",
      "/api/metric/points?mode=add",
      () => [point(1, 0, { source: "x".repeat(257) })],
      "invalid_source",
    ],
  ] as const) {
    it(`are refused as a whole for ${what}`, async () => {
      const answer = await service.fetch(path, { method: "POST", json: body() });
      expect(answer.status).to.equal(400);
      expect(await answer.json()).to.have.nested.property("errors[0].code", code);
      expect(await values()).to.deep.equal([]);
    });
  }

  it("in line protocol are refused with a bucket given twice, or a mode", async () => {
    for (const query of ["bucket=add&bucket=add", "bucket=add&mode=add"])
      expect((await lines([line("", 1)], query)).status, query).to.equal(400);
    expect(await values()).to.deep.equal([]);
  });
});
