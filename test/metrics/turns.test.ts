import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { Turns } from "../../src/metrics/turns.js";

describe("turns of long work", () => {
  it("are one in each round of the event loop, however many wait, in the order in which they came", async () => {
    const turns = new Turns();
    const log: (number | "round")[] = [];
    let isDone = false;
    const rounds = (async () => {
      while (!isDone) {
        await setImmediate();
        log.push("round");
      }
    })();
    const work = async (number: number) => {
      for (let part = 0; part < 3; part += 1) {
        await turns.next();
        log.push(number);
      }
    };
    await Promise.all([0, 1, 2, 3].map(work));
    isDone = true;
    await rounds;
    expect(log.filter((entry) => entry !== "round")).to.deep.equal([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    expect(log.some((entry, i) => entry !== "round" && log[i + 1] !== "round" && i + 1 < log.length)).to.equal(false);
  });

  it("go on when work that had its turn ends in an error, and after a rest", async () => {
    const turns = new Turns();
    const failed = turns.next().then(() => Promise.reject(new Error("failed")));
    const next = turns.next();
    await failed.catch(() => {});
    await next;
    await turns.next();
  });
});
