import { expect } from "chai";
import { Progress } from "../../src/commands/progress.js";

describe("the progress of a command", () => {
  let now: number;
  let written: string;

  beforeEach(() => {
    now = 0;
    written = "";
  });

  function start(isTTY: boolean, total?: number): Progress {
    const write = (text: string | Uint8Array) => {
      written += text;
      return true;
    };
    return new Progress("reading", { unit: "point", total, now: () => now, out: { write, isTTY } });
  }

  it("is a line every few seconds without a terminal", () => {
    const progress = start(false, 10_000);
    for (let second = 1; second <= 10; second += 1) {
      now = second * 1000;
      progress.update(second * 500);
    }
    expect(written.split("\n")).to.deep.equal([
      "reading: 2,500 of 10,000 points, 500 points/s, 15 s left",
      "reading: 5,000 of 10,000 points, 500 points/s, 10 s left",
      "",
    ]);
  });

  it("is a bar that is redrawn in place on a terminal", () => {
    const progress = start(true, 1000);
    now = 1000;
    progress.update(500);
    now = 2000;
    progress.update(1000);
    progress.finish();
    expect(written).to.contain(
      "\r\x1b[2Kreading [############------------] 500 of 1,000 points, 500 points/s, 1 s left",
    );
    expect(written).to.match(/1,000 of 1,000 points, 500 points\/s\n$/);
  });

  it("has no total if none is known", () => {
    const progress = start(false);
    now = 4_000;
    progress.update(8000);
    progress.finish();
    expect(written).to.equal("reading: 8,000 points, 2,000 points/s\n");
  });

  it("is replaced by other lines on a terminal", () => {
    const progress = start(true, 1000);
    now = 1000;
    progress.update(500);
    progress.say("a line");
    expect(written.endsWith("left\r\x1b[2Ka line\n")).to.equal(true);
  });

  it("shows long times in minutes and hours", () => {
    const progress = start(false, 100_000);
    now = 5000;
    progress.update(100);
    now = 10_000;
    progress.update(2000);
    expect(written).to.contain("1 h 23 min left").and.contain("8 min 10 s left");
  });
});
