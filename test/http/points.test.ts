import { expect } from "chai";
import { valuesOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
const DAY = Date.UTC(2024, 5, 1);
const NOW = Date.UTC(2024, 5, 15, 12, 30);

describe("a write of points", () => {
  const service = serviceOfSuite({}, { clock: () => NOW });
  /** Each test has a stream of its own. */
  let stream = 0;
  beforeEach(() => {
    stream += 1;
  });

  const names = () => ({ dimension: "stream", dimension_id: `s${stream}`, dimension_type: "size" });
  const point = (ts: unknown, value: number) => ({ ...names(), ts, value });

  /** Values of the hours of 1 June of the stream of this test. */
  async function saved(dimension = "stream", id = `s${stream}`): Promise<Record<number, number>> {
    const window = { interval: "1h", startdate: "2024-06-01", enddate: "2024-06-02" };
    const values = await valuesOf(service, { dimension, dimension_id: id, ...window });
    return Object.fromEntries(values.map(([ts, value]) => [(ts - DAY) / HOUR, value]));
  }

  async function accepted(json: unknown, count: number): Promise<void> {
    const answer = await service.fetch("/api/metric/points", { method: "POST", json });
    expect(await answer.json()).to.deep.equal({ status: 200, message: "success", data: { point_count: count } });
    expect(answer.status).to.equal(200);
  }

  it("accepts a time as a string of ms, as responses contain it", async () => {
    await accepted([point(String(DAY), 4)], 1);
    expect(await saved()).to.deep.equal({ 0: 4 });
  });

  it("accepts lines of JSON, and skips blank ones", async () => {
    const body = `${JSON.stringify(point(DAY, 1))}\n\n${JSON.stringify(point(DAY + HOUR, 2))}\r\n`;
    const headers = { "content-type": "application/x-ndjson" };
    const answer = await service.fetch("/api/metric/points", { method: "POST", body, headers });
    expect(answer.status).to.equal(200);
    expect(await saved()).to.deep.equal({ 0: 1, 1: 2 });
  });

  it("accepts a block with null for a missing value", async () => {
    const other = { dimension: "segsize", dimension_id: `g${stream}`, dimension_type: "size" };
    const values = [
      [1, null, 3],
      [null, 5, 6],
    ];
    await accepted({ series: [names(), other], ts: [DAY, String(DAY + HOUR), DAY + 2 * HOUR], values }, 4);
    expect(await saved()).to.deep.equal({ 0: 1, 2: 3 });
    expect(await saved("segment", `g${stream}`)).to.deep.equal({ 0: 5, 2: 6 });
  });

  it("accepts a block whose times are out of order and far apart", async () => {
    const old = Date.UTC(2001, 0, 1);
    await accepted({ series: [names()], ts: [DAY + 2 * HOUR, old, DAY], values: [[3, 9, 1]] }, 3);
    expect(await saved()).to.deep.equal({ 0: 1, 2: 3 });
  });

  it("accepts points from the year 2000 up to 10 minutes in the future", async () => {
    await accepted([point(NOW + 600_000, 1), point(Date.UTC(2000, 0, 1), 1)], 2);
  });
});
