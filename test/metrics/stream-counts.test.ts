import { expect } from "chai";
import { streamCounts } from "../../src/metrics/stream-counts.js";

const HOUR = 3_600_000;

describe("the messages of a commit", () => {
  it("count for their stream in the slot of their event time, with the newest arrival", () => {
    const messages = [
      { stream: "web", time: HOUR, arrival: 20 },
      { stream: "web", time: 2 * HOUR - 1, arrival: 10 },
      { stream: "web", time: 2 * HOUR, arrival: 30 },
      { stream: "app", time: HOUR, arrival: 40 },
    ];
    expect(streamCounts(messages)).to.deep.equal([
      { stream: "web", slot: HOUR, count: 2, arrival: 20 },
      { stream: "web", slot: 2 * HOUR, count: 1, arrival: 30 },
      { stream: "app", slot: HOUR, count: 1, arrival: 40 },
    ]);
    expect(streamCounts([])).to.deep.equal([]);
  });
});
