import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { YieldBudget } from "../../src/async/yielding.js";
import { ServiceError } from "../../src/errors.js";
import { RequestLimits } from "../../src/http/edge/limits.js";
import { until } from "../support/until.js";

/** Requests that may work at once while the processor is busy. */
const WORKING = 64;

describe("requests in flight", () => {
  let limits: RequestLimits;
  let begun: number[];
  let responses: ServerResponse[];
  let ends: (() => void)[];
  let errors: unknown[];
  beforeEach(() => {
    limits = new RequestLimits({ requests: 512, requests_per_key: 512, rate_per_key: null }, new YieldBudget());
    [begun, responses, ends, errors] = [[], [], [], []];
  });

  /** Requests that work until `end` ends the first of them. */
  function arrive(count: number): void {
    const [own, running] = [begun, ends];
    for (let i = 0; i < count; i += 1) {
      const res = new ServerResponse(new IncomingMessage(new Socket()));
      const number = responses.push(res) - 1;
      limits.enter(res);
      const work = () =>
        new Promise<void>((resolve) => {
          own.push(number);
          running.push(resolve);
        });
      limits.run(res, work).catch((error: unknown) => errors.push(error));
    }
  }

  const end = () => ends.shift()?.();

  /** Rounds of the event loop in which the processor is busy, until `isOver`; `each` is called in each. */
  async function busyUntil(isOver: () => boolean, each: () => void = () => {}): Promise<void> {
    while (!isOver()) {
      keepBusy(2);
      each();
      await setImmediate();
    }
  }

  const inOrder = (count: number) => Array.from({ length: count }, (_, number) => number);

  it("begin in the order of arrival, hundreds at once while the processor is idle", async () => {
    arrive(500);
    await until("all have begun", () => begun.length === 500);
    expect(begun).to.deep.equal(inOrder(500));
  });

  it("begin as others end while the processor is busy, and so many work at once", async () => {
    arrive(200);
    let rounds = 0;
    let most = 0;
    await busyUntil(
      () => rounds > 100,
      () => {
        rounds += 1;
        if (rounds > 5) most = Math.max(most, ends.length);
        end();
      },
    );
    expect(most).to.equal(WORKING);
    expect(begun).to.deep.equal(inOrder(begun.length));
    expect(begun.length).to.be.within(WORKING + 90, WORKING + 105);
  });

  it("begin although the processor is busy and no request that works ends", async () => {
    arrive(WORKING + 3);
    await busyUntil(() => begun.length === WORKING + 3);
  });

  it("are not begun when the caller disconnects before, and are no longer in flight", async () => {
    arrive(WORKING);
    await until("as many as may work have begun", () => begun.length === WORKING);
    arrive(3);
    for (const number of [WORKING, WORKING + 2]) responses[number]?.emit("close");
    await until("the other one has begun", () => limits.waiting === 0);
    await setImmediate();
    expect(begun.slice(WORKING)).to.deep.equal([WORKING + 1]);
    expect(limits.inFlight).to.equal(WORKING + 1);
    expect(errors.map((error) => (error as ServiceError).kind)).to.deep.equal(["timed-out", "timed-out"]);
  });

  it("are refused at once while the first one that waits has waited for a second, and no longer when it has begun", async () => {
    arrive(4 * WORKING);
    const isRefused = () => {
      try {
        arrive(1);
        return false;
      } catch (error) {
        expect(error).to.be.instanceOf(ServiceError).that.includes({ kind: "unavailable", retryAfter: 1 });
        return true;
      }
    };
    expect(isRefused()).to.equal(false);
    await setImmediate();
    keepBusy(1_100);
    expect(isRefused()).to.equal(true);
    await until("all have begun", () => limits.waiting === 0);
    expect(isRefused()).to.equal(false);
  });
});

function keepBusy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
