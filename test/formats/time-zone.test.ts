import { expect } from "chai";
import { DAY, type TimeZone, timeZone } from "../../src/formats/time-zone.js";
import { collectGarbage } from "../support/collect-garbage.js";

describe("time zones in memory", function () {
  this.timeout(60_000);
  const names = Intl.supportedValuesOf("timeZone");
  const zones = names.map((name) => timeZone(name) as TimeZone);

  it("a zone has one object, whatever the letter case of its name and however many others were used since", () => {
    for (const [i, name] of names.entries()) {
      for (const spelling of [name, name.toLowerCase(), name.toUpperCase()])
        expect(timeZone(spelling), spelling).to.equal(zones[i]);
    }
    expect(timeZone("utc")).to.equal(timeZone("UTC"));
  });

  it("a letter outside of ASCII whose lower case is in a name makes no name", () => {
    expect(timeZone("asia/kolkata")).to.not.equal(undefined);
    expect(timeZone("asia/\u212aolkata")).to.equal(undefined);
  });

  it("20,000 spellings of names take no memory", () => {
    for (const name of names) timeZone(name.toLowerCase());
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 20_000; i += 1) timeZone(spelling(names[i % names.length] as string, i));
    expect(process.memoryUsage.rss() - before).to.be.below(64 * 2 ** 20);
  });

  it("44 years of offsets in each of 150 zones take at most 16 MB", () => {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const days = 44 * 365;
    for (const zone of zones.slice(0, 150)) for (let day = 0; day < days; day += 4) zone.local(day * DAY);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(16_000_000);
    expect(zones[0]?.local(Date.UTC(2026, 0))).to.equal(Date.UTC(2026, 0));
  });
});

/** Returns a name with the letters in upper case for which `bits` has a 1. */
function spelling(name: string, bits: number): string {
  return Array.from(name.toLowerCase(), (letter, i) => ((bits >> i) & 1 ? letter.toUpperCase() : letter)).join("");
}
