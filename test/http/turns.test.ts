import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { NewConnections } from "../../src/async/yielding.js";
import { Turns } from "../../src/http/turns.js";
import { until } from "../support/until.js";

/** As many as work at once in any case, and as may wait in any case. */
const FEW = 64;

describe("turns of requests", () => {
  let turns: Turns;
  let begun: number[];
  let gone: Map<number, () => void>;
  let errors: unknown[];
  beforeEach(() => {
    turns = new Turns(new NewConnections());
    begun = [];
    gone = new Map();
    errors = [];
  });

  /** Requests that work until `turns.end`. */
  function arrive(from: number, to: number): void {
    for (let request = from; request < to; request += 1) {
      const turn = turns.next((then) => gone.set(request, then));
      if (turn === undefined) begun.push(request);
      else
        turn.then(
          () => begun.push(request),
          (error: unknown) => errors.push(error),
        );
    }
  }

  /** Rounds of the event loop in which the processor is busy; `each` is called in every one. */
  async function busyRounds(count: number, each: () => void = () => {}): Promise<void> {
    for (let round = 0; round < count; round += 1) {
      keepBusy(2);
      each();
      await setImmediate();
    }
  }

  it("begin in the order of arrival, hundreds at once while the processor is idle", async () => {
    arrive(0, 500);
    await until("all have begun", () => begun.length === 500);
    expect(begun).to.deep.equal(Array.from({ length: 500 }, (_, request) => request));
  });

  it("begin as others end while the processor is busy", async () => {
    arrive(0, 200);
    await busyRounds(5, () => turns.end());
    let ended = 5;
    await busyRounds(100, () => {
      expect(begun.length - ended).to.be.at.most(FEW);
      turns.end();
      ended += 1;
    });
    expect(begun.length).to.be.above(FEW);
    await until("the rest has begun", () => begun.length === 200);
    expect(begun).to.deep.equal(begun.map((_, request) => request));
  });

  it("begin although no request at work ends and the processor is busy", async () => {
    arrive(0, FEW + 3);
    const busy = { isOver: false };
    const rounds = (async () => {
      while (!busy.isOver) await busyRounds(1);
    })();
    await until("all have begun", () => begun.length === FEW + 3);
    busy.isOver = true;
    await rounds;
  });

  it("are not taken by a caller who has gone before, and the next takes it", async () => {
    arrive(0, FEW);
    await until("as many as may work have begun", () => begun.length === FEW);
    arrive(FEW, FEW + 3);
    gone.get(FEW)?.();
    gone.get(FEW + 2)?.();
    gone.get(0)?.();
    await until("the last has begun", () => turns.waiting === 0);
    await setImmediate();
    expect(begun.slice(FEW)).to.deep.equal([FEW + 1]);
    expect(errors.map((error) => (error as { kind: string }).kind)).to.deep.equal(["timed-out", "timed-out"]);
  });

  it("are behind when many have waited for long, and not any more when they have begun", async () => {
    arrive(0, 4 * FEW);
    expect(turns.isBehind).to.equal(false);
    const busy = { isOver: false };
    const rounds = (async () => {
      while (!busy.isOver) await busyRounds(1);
    })();
    await until("they are behind", () => turns.isBehind);
    expect(turns.waiting).to.be.at.least(FEW);
    busy.isOver = true;
    await rounds;
    await until("all have begun", () => begun.length === 4 * FEW);
    expect(turns.isBehind).to.equal(false);
  });

  it("are not behind because the process stood still", async () => {
    arrive(0, 4 * FEW);
    keepBusy(1500);
    await setImmediate();
    expect(turns.isBehind).to.equal(false);
  });
});

function keepBusy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
