import { expect } from "chai";
import { commitCounts } from "../../src/metrics/added-counts.js";

const HOUR = 3_600_000;

describe("the messages of a commit", () => {
  it("count for their stream in the slot of their event time, and for the segments that people joined or left", () => {
    const messages = [
      { id: "a", stream: "web", time: HOUR, arrival: 20 },
      { id: "b", stream: "web", time: 2 * HOUR - 1, arrival: 10 },
      { id: "c", stream: "web", time: 2 * HOUR, arrival: 30 },
      { id: "d", stream: "app", time: HOUR, arrival: 40 },
      { id: "e", stream: "app", time: HOUR, arrival: 40 },
    ];
    const uncounted = new Set(["e"]);
    const profiles = [
      { turns: [{ segment: "vip", change: 1 }] },
      {
        turns: [
          { segment: "vip", change: 1 },
          { segment: "new", change: -2 },
          { segment: "old", change: 0 },
        ],
      },
    ];
    expect(commitCounts({ messages, uncounted, profiles, at: HOUR })).to.deep.equal([
      { stream: "web", slot: HOUR, count: 2, arrival: 20 },
      { stream: "web", slot: 2 * HOUR, count: 1, arrival: 30 },
      { stream: "app", slot: HOUR, count: 1, arrival: 40 },
      { stream: "/joined/vip", slot: HOUR, count: 2 },
      { stream: "/left/new", slot: HOUR, count: 2 },
    ]);
    expect(commitCounts({ messages: [], uncounted, profiles: [], at: HOUR })).to.deep.equal([]);
  });
});
