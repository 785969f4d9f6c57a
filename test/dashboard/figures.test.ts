import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { changeOf, hasMoved, messagesOf, silenceOf } from "../../src/dashboard/figures.js";
import { serveDimensions } from "./served-dimensions.js";

const NOW = Date.UTC(2026, 10, 20, 21, 52);

describe("the figures of a row", () => {
  before(() => serveDimensions());

  for (const [search, messages] of [
    ["?range=7d", 105],
    ["?from=2026-11-20T20:00&to=2026-11-20T22:00", 105],
    ["?from=2026-11-14&to=2026-11-19", 100],
    ["?from=2026-12-01&to=2026-12-02", 100],
  ] as const) {
    it(`${messages === 105 ? "contain" : "do not contain"} the messages of the open hour with ${search}`, () => {
      const viewed = { address: readAddress(search), now: NOW, zone: "UTC" } as const;
      expect(messagesOf({ now: 100, slot: { count: 5 } }, viewed)).to.equal(messages);
      expect(messagesOf({ now: null, slot: { count: 5 } }, viewed)).to.equal(messages - 100);
    });
  }

  it("name the day of the earlier value if the series begins after the start of the window", () => {
    expect(changeOf({ now: 12, before: 10 }, "members", "UTC")).to.equal("+2, +20 %");
    expect(changeOf({ now: 12, before: 10, since: "2026-10-12T10:00:00Z" }, "members", "UTC")).to.equal(
      "+2, +20 % since 12 Oct",
    );
    expect(changeOf({ now: 12, before: null }, "members", "UTC")).to.equal("–");
  });

  it("compare only the hours that both windows have", () => {
    const row = { now: 40, before: 10, compared: 12, since: "2026-11-14T10:00:00Z" };
    expect(changeOf(row, "messages", "UTC")).to.equal("+2, +20 % since 14 Nov");
    expect(changeOf({ now: 40, before: 0, compared: null }, "messages", "UTC")).to.equal("–");
    expect(hasMoved({ now: 40, before: 10, compared: 10 })).to.equal(false);
  });

  it("name how long a stream has been silent", () => {
    const at = new Date(NOW - 9 * 3_600_000).toISOString();
    expect(silenceOf({ newest_at: at, silent: true }, NOW)).to.equal("silent for 9 h");
    expect(silenceOf({ newest_at: null, silent: true }, NOW)).to.equal("silent for over a year");
    expect(silenceOf({ newest_at: at, silent: false }, NOW)).to.equal(undefined);
  });

  it("have moved if both values exist and differ", () => {
    expect(hasMoved({ now: 1, before: 0 })).to.equal(true);
    for (const row of [{ now: 1, before: 1 }, { now: 1 }, { now: null, before: 1 }])
      expect(hasMoved(row)).to.equal(false);
  });
});
