import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { runRecorder } from "../../src/metrics/recorder/recorder.js";
import { until } from "../support/until.js";

const log = openLog("silent");

describe("the recorder as it runs", () => {
  it("repeats its tick immediately while work is left", async () => {
    let ticks = 0;
    const running = runRecorder({ tick: async () => ++ticks < 5 }, 3_600_000, log);
    await until("five ticks", () => ticks === 5);
    await running.stop();
  });

  it("logs a failed tick and repeats it", async () => {
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
});
