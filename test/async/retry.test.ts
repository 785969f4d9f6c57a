import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { backoff, inBackground, jittered, retry } from "../../src/async/retry.js";

describe("work that can be repeated", () => {
  it("is repeated until no pause is left, and rejects with its last error", async () => {
    const seen: [unknown, number][] = [];
    let done = 0;
    const failing = retry(
      async () => Promise.reject(`error ${++done}`),
      (error, attempt) => {
        seen.push([error, attempt]);
        return attempt < 3 ? 0 : undefined;
      },
    );
    expect(await reasonOf(failing)).to.equal("error 3");
    expect(seen).to.deep.equal([
      ["error 1", 1],
      ["error 2", 2],
      ["error 3", 3],
    ]);
  });

  it("resolves with the first success", async () => {
    let done = 0;
    const work = async () => (++done < 3 ? Promise.reject(new Error("not yet")) : done);
    expect(await retry(work, () => 0)).to.equal(3);
  });

  it("rejects with the error that replaces its own", async () => {
    const other = retry(
      async () => Promise.reject("its own"),
      () => {
        throw "another";
      },
    );
    expect(await reasonOf(other)).to.equal("another");
  });

  it("ends during a pause when its signal aborts", async () => {
    const stop = new AbortController();
    const pause = () => {
      stop.abort();
      return 60_000;
    };
    const pausing = retry(() => Promise.reject("error"), pause, stop.signal);
    expect(await reasonOf(pausing)).to.have.property("name", "AbortError");
  });

  it("runs in the background until it is stopped, and a stop waits for running work", async () => {
    let done = 0;
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const third = new Promise<() => Promise<void>>((resolve) => {
      const background = inBackground(async () => {
        if (++done < 3) return 0;
        resolve(() => background.stop());
        await held;
        return 0;
      });
    });
    let isStopped = false;
    const stopping = (await third)().then(() => {
      isStopped = true;
    });
    await setImmediate();
    expect(isStopped).to.equal(false);
    finish();
    await stopping;
    expect(done).to.equal(3);
  });

  it("ends during a pause in the background when it is stopped", async () => {
    let done = 0;
    const background = inBackground(async () => {
      done += 1;
      return 60_000;
    });
    await setImmediate();
    await background.stop();
    expect(done).to.equal(1);
  });

  it("doubles its pauses up to a maximum, and waits a random part of each", () => {
    expect([1, 2, 3, 4, 5, 1e9].map((attempt) => backoff(attempt, 250, 1_500))).to.deep.equal([
      250, 500, 1_000, 1_500, 1_500, 1_500,
    ]);
    for (let i = 0; i < 100; i += 1) expect(jittered(20)).to.be.within(0, 20);
  });
});

async function reasonOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail("it did not reject"),
    (reason: unknown) => reason,
  );
}
