import { expect } from "chai";
import { NewConnections, YieldBudget } from "../../src/async/yielding.js";

describe("long work while connections come", () => {
  it("waits for the rounds that accept one, so that none of many connections waits for a part of it", async () => {
    const connections = new NewConnections(() => 0);
    const budget = new YieldBudget(connections);
    const log: string[] = [];
    const accept = (left: number) => {
      connections.accept();
      log.push("accepted");
      if (left > 1) setImmediate(accept, left - 1);
    };
    accept(20);
    await budget.next();
    log.push("part");
    expect(log).to.deep.equal([...Array(20).fill("accepted"), "part"]);
  });

  it("goes on after a while, however many come", async () => {
    let now = 0;
    const connections = new NewConnections(() => now);
    const budget = new YieldBudget(connections);
    const log: number[] = [];
    let isOver = false;
    const accept = () => {
      now += 1;
      connections.accept();
      if (!isOver) setImmediate(accept);
    };
    accept();
    for (let part = 0; part < 3; part += 1) {
      await budget.next();
      log.push(now);
    }
    isOver = true;
    for (const [i, time] of log.entries()) expect(time - (log[i - 1] ?? 0)).to.be.within(10, 12);
  });

  it("is watched for each kind of work by itself", () => {
    const connections = new NewConnections(() => 0);
    const [one, other] = [connections.watch(), connections.watch()];
    connections.accept();
    expect([one(), one(), other(), other()]).to.deep.equal([true, false, true, false]);
  });
});
