import { setImmediate as setImmediateCallback } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { YieldBudget } from "../../src/async/yielding.js";

describe("a yield budget for long work", () => {
  it("runs one part of waiting work in each round of the event loop, in the order of arrival", async () => {
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

  it("continues a paused part before all others, and runs others between two parts", async () => {
    const budget = new YieldBudget();
    const log: string[] = [];
    const work = async (name: string) => {
      for (let part = 0; part < 2; part += 1) {
        await budget.next();
        const pause = budget.pauses(0);
        for (let step = 0; step < 3; step += 1) {
          log.push(`${name}${part}`);
          await pause();
        }
      }
    };
    await Promise.all([work("a"), work("b")]);
    expect(log.join(" ")).to.equal("a0 a0 a0 b0 b0 b0 a1 a1 a1 b1 b1 b1");
  });

  it("starts a request in each round, also while paused parts take all of them", async () => {
    const budget = new YieldBudget();
    let isDone = false;
    const long = (async () => {
      const pause = budget.pauses(0);
      while (!isDone) await pause();
    })();
    for (let n = 0; n < 3; n += 1) await budget.start();
    isDone = true;
    await long;
  });

  it("continues after a failed part, and after idle time", async () => {
    const budget = new YieldBudget();
    const failed = budget.next().then(() => Promise.reject(new Error("failed")));
    const next = budget.next();
    await failed.catch(() => {});
    await next;
    await budget.next();
  });
});

describe("long work while connections arrive", () => {
  it("waits while connections are accepted, so that none of them waits for a part of it", async () => {
    const budget = new YieldBudget();
    const log: string[] = [];
    const accept = (left: number) => {
      budget.connectionAccepted();
      log.push("accepted");
      if (left > 1) setImmediateCallback(accept, left - 1);
    };
    accept(20);
    await budget.next();
    log.push("part");
    expect(log).to.deep.equal([...Array(20).fill("accepted"), "part"]);
  });

  it("continues after a bounded time, however many connections arrive", async () => {
    const budget = new YieldBudget();
    let isOver = false;
    const accept = () => {
      budget.connectionAccepted();
      if (!isOver) setImmediateCallback(accept);
    };
    accept();
    for (let part = 0; part < 3; part += 1) await budget.next();
    isOver = true;
  });
});
