import { expect } from "chai";
import { DAY, HOUR, pointsStage } from "../support/points-stage.js";
import { amount } from "../support/servers.js";

describe("a write of points", () => {
  const on = pointsStage();
  const { names, point, saved, accepted } = on;

  it("stores the later point of a slot, in one write and across writes", async () => {
    await accepted([point(DAY, 1), point(DAY + 5, 2)], 2);
    expect(await saved()).to.deep.equal({ 0: 2 });
    await accepted(
      {
        series: [names(), names()],
        ts: [DAY, DAY + 1],
        values: [
          [3, 4],
          [5, null],
        ],
      },
      3,
    );
    expect(await saved()).to.deep.equal({ 0: 5 });
  });

  it("accepts ids of 256 characters of any script", async () => {
    const id = "🦉".repeat(256);
    await accepted([{ ...point(DAY, 6), dimension_id: id }], 1);
    expect(await saved("stream", id)).to.deep.equal({ 0: 6 });
  });

  it("accepts 50,000 points at once, as an array and as a block", async () => {
    // The server creates a new file for about each week of time, one after another.
    const ids = Array.from({ length: amount(1, 50) }, (_, i) => `s${on.stream}.${i}`);
    const times = Array.from({ length: 50_000 / ids.length }, (_, i) => DAY - i * HOUR);
    const points = ids.flatMap((dimension_id) => times.map((ts) => ({ ...point(ts, 1), dimension_id })));
    await accepted(points, 50_000);
    expect(await saved("stream", ids.at(-1))).to.deep.equal({ 0: 1 });
    const series = ids.map((dimension_id) => ({ ...names(), dimension_id }));
    await accepted({ series, ts: times, values: series.map(() => times.map(() => 2)) }, 50_000);
    expect(await saved("stream", ids.at(-1))).to.deep.equal({ 0: 2 });
  });
});
