import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import type { ServiceError } from "../../src/errors.js";
import { RequestLimits } from "../../src/http/edge/limits.js";
import { until } from "../support/until.js";

/** Requests that run at once. */
const CONCURRENT = 96;

describe("requests in flight", () => {
  let limits: RequestLimits;
  let begun: number[];
  let responses: ServerResponse[];
  let ends: (() => void)[];
  /** Sets whether the request of this number runs or waits for its caller. */
  let runs: ((isRunning: boolean) => void)[];
  let errors: unknown[];
  beforeEach(() => {
    limits = new RequestLimits({ requests: 512, requests_per_key: 512 });
    [begun, responses, ends, errors, runs] = [[], [], [], [], []];
  });

  /** Requests that work until `end` ends the first of them. */
  function arrive(count: number): void {
    const [own, running] = [begun, ends];
    for (let i = 0; i < count; i += 1) {
      const res = new ServerResponse(new IncomingMessage(new Socket()));
      const number = responses.push(res) - 1;
      limits.enter(res);
      const work = (setRuns: (isRunning: boolean) => void) =>
        new Promise<void>((resolve) => {
          runs[number] = setRuns;
          own.push(number);
          running.push(resolve);
        });
      limits.run(res, "key", work).catch((error: unknown) => errors.push(error));
    }
  }

  const end = () => ends.shift()?.();

  const inOrder = (count: number) => Array.from({ length: count }, (_, number) => number);

  it("begin in the order of arrival, each when another ends, one in each round of the event loop", async () => {
    arrive(CONCURRENT + 20);
    await setImmediate();
    expect(begun.length).to.equal(CONCURRENT);
    for (let i = 0; i < 10; i += 1) end();
    for (let round = 1; round <= 10; round += 1) {
      await setImmediate();
      expect(begun.length).to.be.at.most(CONCURRENT + round);
    }
    await until("as many have begun as have ended", () => begun.length === CONCURRENT + 10);
    await setImmediate();
    expect(begun).to.deep.equal(inOrder(CONCURRENT + 10));
  });

  it("let others begin while they wait for their callers, and count once when they end", async () => {
    arrive(CONCURRENT + 2);
    runs[0]?.(false);
    await until("another one has begun", () => begun.length === CONCURRENT + 1);
    runs[0]?.(true);
    end();
    await setImmediate();
    await setImmediate();
    expect(begun.length).to.equal(CONCURRENT + 1);
    end();
    await until("the last one has begun", () => begun.length === CONCURRENT + 2);
  });

  it("do not begin if their caller disconnects before, and are no longer in flight", async () => {
    arrive(CONCURRENT);
    arrive(3);
    for (const number of [CONCURRENT, CONCURRENT + 2]) responses[number]?.emit("close");
    end();
    await until("the other one has begun", () => limits.waiting === 0);
    await setImmediate();
    expect(begun.slice(CONCURRENT)).to.deep.equal([CONCURRENT + 1]);
    expect(limits.inFlight).to.equal(CONCURRENT + 1);
    expect(errors.map((error) => (error as ServiceError).kind)).to.deep.equal(["timed-out", "timed-out"]);
  });

  it("are refused at once while another has waited for a second, until that one begins", async () => {
    arrive(3 * CONCURRENT);
    expect(limits.isFull).to.equal(false);
    await setImmediate();
    keepBusy(1_100);
    expect(limits.isFull).to.equal(true);
    await until("all have begun", () => {
      end();
      return limits.waiting === 0;
    });
    expect(limits.isFull).to.equal(false);
  });
});

function keepBusy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
