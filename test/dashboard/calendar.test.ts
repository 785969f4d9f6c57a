import { expect } from "chai";
import { dayBy } from "../../src/dashboard/page/days.js";

describe("a key in the calendar of the dashboard", () => {
  for (const [key, from, to] of [
    ["ArrowLeft", "2026-11-01", "2026-10-31"],
    ["ArrowRight", "2026-12-31", "2027-01-01"],
    ["ArrowUp", "2026-11-03", "2026-10-27"],
    ["ArrowDown", "2026-11-28", "2026-12-05"],
    ["Home", "2026-11-22", "2026-11-16"],
    ["End", "2026-11-16", "2026-11-22"],
    ["PageUp", "2026-03-31", "2026-02-28"],
    ["PageDown", "2026-12-31", "2027-01-31"],
    ["a", "2026-11-01", undefined],
  ] as const)
    it(`${key} leads from ${from} to ${to ?? "no other day"}`, () => {
      expect(dayBy(key, from)).to.equal(to);
    });
});
