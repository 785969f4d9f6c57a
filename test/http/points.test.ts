import { expect } from "chai";
import { DAY, HOUR, NOW, pointsStage } from "../support/points-stage.js";

describe("a write of points", () => {
  const on = pointsStage();
  const { names, point, saved, accepted } = on;

  it("accepts a time as a string of ms, as responses contain it", async () => {
    await accepted([point(String(DAY), 4)], 1);
    expect(await saved()).to.deep.equal({ 0: 4 });
  });

  it("accepts lines of JSON, and skips blank ones", async () => {
    const body = `${JSON.stringify(point(DAY, 1))}\n\n${JSON.stringify(point(DAY + HOUR, 2))}\r\n`;
    const headers = { "content-type": "application/x-ndjson" };
    const answer = await on.service.fetch("/api/metric/points", { method: "POST", body, headers });
    expect(answer.status).to.equal(200);
    expect(await saved()).to.deep.equal({ 0: 1, 1: 2 });
  });

  it("accepts a block with null for a missing value", async () => {
    const other = { dimension: "segsize", dimension_id: `g${on.stream}`, dimension_type: "size" };
    const values = [
      [1, null, 3],
      [null, 5, 6],
    ];
    await accepted({ series: [names(), other], ts: [DAY, String(DAY + HOUR), DAY + 2 * HOUR], values }, 4);
    expect(await saved()).to.deep.equal({ 0: 1, 2: 3 });
    expect(await saved("segment", `g${on.stream}`)).to.deep.equal({ 0: 5, 2: 6 });
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
