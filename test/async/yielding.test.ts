import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { YieldBudget } from "../../src/async/yielding.js";

describe("a yield budget for long work", () => {
  it("lets one part go on in each round of the event loop, however many wait, in the order in which they came", async () => {
    const budget = new YieldBudget();
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
        await budget.next();
        log.push(number);
      }
    };
    await Promise.all([0, 1, 2, 3].map(work));
    isDone = true;
    await rounds;
    expect(log.filter((entry) => entry !== "round")).to.deep.equal([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    expect(log.some((entry, i) => entry !== "round" && log[i + 1] !== "round" && i + 1 < log.length)).to.equal(false);
  });

  it("goes on when a part ended in an error, and after a rest", async () => {
    const budget = new YieldBudget();
    const failed = budget.next().then(() => Promise.reject(new Error("failed")));
    const next = budget.next();
    await failed.catch(() => {});
    await next;
    await budget.next();
  });
});
