import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { runRecorder } from "../../src/metrics/recorder/recorder.js";
import { until } from "../support/until.js";

const log = openLog("silent");

describe("running the recorder", () => {
  it("ticks again and again, never twice at once", async () => {
    let ticks = 0;
    let under = 0;
    let most = 0;
    const running = runRecorder(
      {
        async tick() {
          ticks += 1;
          under += 1;
          most = Math.max(most, under);
          await new Promise((resolve) => setTimeout(resolve, 2));
          under -= 1;
          return ticks % 2 === 0;
        },
      },
      1,
      log,
    );
    await until("ten ticks", () => ticks >= 10);
    await running.stop();
    expect({ most, under }).to.deep.equal({ most: 1, under: 0 });
  });

  it("ticks at once again while more is left", async () => {
    let ticks = 0;
    const running = runRecorder({ tick: async () => ++ticks < 5 }, 3_600_000, log);
    await until("five ticks", () => ticks === 5);
    await running.stop();
  });

  it("logs a failure and tries again", async () => {
    let ticks = 0;
    const logged: string[] = [];
    const running = runRecorder(
      {
        async tick() {
          ticks += 1;
          if (ticks < 3) throw new Error("the store is away");
          return false;
        },
      },
      1,
      { ...log, error: ((_: unknown, message: string) => void logged.push(message)) as typeof log.error },
    );
    await until("a third tick", () => ticks >= 3);
    await running.stop();
    expect(logged).to.have.length(2);
  });

  it("stops after the current tick, and does not tick again", async () => {
    let ticks = 0;
    let finish = () => {};
    const running = runRecorder(
      {
        tick: () =>
          new Promise<boolean>((resolve) => {
            ticks += 1;
            finish = () => resolve(true);
          }),
      },
      1,
      log,
    );
    await until("a tick", () => ticks === 1);
    let stopped = false;
    const stopping = running.stop().then(() => {
      stopped = true;
    });
    await Promise.resolve();
    expect(stopped).to.equal(false);
    finish();
    await stopping;
    expect(ticks).to.equal(1);
  });
});
