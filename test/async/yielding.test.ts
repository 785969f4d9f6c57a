import { setImmediate as setImmediateCallback } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { connectionAccepted, yieldToStarted, yieldWhenDue } from "../../src/async/yielding.js";

/** Time that work may use before the network is served, ms. */
const WORK_MS = 5;
const MANY = 30;

describe("long work", () => {
  it("of many requests shares the time until the network is served, so that most take no more than a step in it", async () => {
    let isDone = false;
    let [steps, most] = [0, 0];
    const network = (async () => {
      while (!isDone) {
        await setImmediate();
        most = Math.max(most, steps);
        steps = 0;
      }
    })();
    const work = async () => {
      for (let step = 0; step < 20; step += 1) {
        await yieldWhenDue();
        busy(1);
        steps += 1;
      }
    };
    await Promise.all(Array.from({ length: MANY }, work));
    isDone = true;
    await network;
    expect(most).to.be.within(1, MANY + 2 * WORK_MS);
  });

  it("of large values runs one after another, in the order of arrival, although each yields", async () => {
    const log: string[] = [];
    const work = async (name: string) => {
      for (let part = 0; part < 2; part += 1) {
        await yieldToStarted();
        for (let step = 0; step < 3; step += 1) {
          log.push(`${name}${part}`);
          busy(WORK_MS + 1);
          await yieldWhenDue();
        }
      }
    };
    await Promise.all([work("a"), work("b")]);
    expect(log.join(" ")).to.equal("a0 a0 a0 b0 b0 b0 a1 a1 a1 b1 b1 b1");
  });

  it("continues after a failed part, and after idle time", async () => {
    const failed = yieldToStarted().then(() => Promise.reject(new Error("failed")));
    const next = yieldToStarted();
    await failed.catch(() => {});
    await next;
    await yieldToStarted();
  });
});

describe("long work while connections arrive", () => {
  it("waits while connections are accepted, so that none of them waits for a part of it", async () => {
    const log: string[] = [];
    const accept = (left: number) => {
      connectionAccepted();
      log.push("accepted");
      if (left > 1) setImmediateCallback(accept, left - 1);
    };
    accept(20);
    await yieldToStarted();
    log.push("part");
    expect(log).to.deep.equal([...Array(20).fill("accepted"), "part"]);
  });

  it("continues after a bounded time, however many connections arrive", async () => {
    let isOver = false;
    const accept = () => {
      connectionAccepted();
      if (!isOver) setImmediateCallback(accept);
    };
    accept();
    for (let part = 0; part < 3; part += 1) await yieldToStarted();
    isOver = true;
  });
});

function busy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}
