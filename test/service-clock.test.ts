import { expect } from "chai";
import { serviceClock } from "../src/service-clock.js";

const SERVER = 1_800_000_000_000;

describe("the clock of the service", () => {
  /** A machine whose clock is `aheadMs` ahead of the server's; each call to the server takes `callMs`. */
  const clockAhead = (aheadMs: number, callMs = 0) => {
    let passed = 0;
    const machine = () => SERVER + passed + aheadMs;
    return following(machine, async () => {
      passed += callMs / 2;
      const time = SERVER + passed;
      passed += callMs / 2;
      return time;
    });
  };

  const following = (machine: () => number, serverTime: () => Promise<number>) => {
    const clock = serviceClock(machine);
    return { now: clock.now, ...clock.follow(serverTime) };
  };

  const measured = async (shared: ReturnType<typeof following>) => {
    await shared.probe.check();
    return shared;
  };

  for (const { aheadMs, callMs = 0, corrected } of [
    { aheadMs: 0, corrected: 0 },
    { aheadMs: 1_000, corrected: 1_000 },
    { aheadMs: -1_000, corrected: -1_000 },
    { aheadMs: 1_001, corrected: 0 },
    { aheadMs: 300_000, corrected: 0 },
    { aheadMs: -300_000, corrected: 0 },
    { aheadMs: 1_500, callMs: 2_000, corrected: 1_500 },
  ]) {
    it(`differs by ${corrected} instead of ${aheadMs} ms after a call of ${callMs} ms`, async () => {
      const shared = await measured(clockAhead(aheadMs, callMs));
      expect(shared.now() - (SERVER + callMs)).to.equal(corrected);
    });
  }

  it("equals the machine's clock once that is right, and if no other process uses the stores", async () => {
    let offset = 300_000;
    const machine = () => SERVER + offset;
    const shared = await measured(following(machine, async () => SERVER));
    expect(shared.now()).to.equal(SERVER);
    offset = 0;
    expect((await measured(shared)).now()).to.equal(SERVER);
    expect(serviceClock(machine).now()).to.equal(SERVER);
  });

  it("is up to a difference of a minute without a note, and beyond it has a note of the difference", async () => {
    for (const aheadMs of [0, 60_000, -60_000]) expect(await clockAhead(aheadMs).probe.check()).to.equal(undefined);
    for (const [aheadMs, words] of [
      [300_000, "The clock of this process is 300 s ahead of the clock of the server: run NTP"],
      [-60_001, "The clock of this process is 60 s behind the clock of the server: run NTP"],
    ] as const) {
      expect(await clockAhead(aheadMs).probe.check()).to.equal(words);
    }
  });

  it("has no note if the server is unreachable, which other probes report", async () => {
    const shared = following(Date.now, () => Promise.reject(new Error("unreachable")));
    expect(await shared.probe.check()).to.equal(undefined);
  });

  it("is logged at the start if it differs by more than a second", async () => {
    const lines: unknown[] = [];
    const log = { warn: (...line: unknown[]) => void lines.push(line) };
    await (await clockAhead(1_000).watch(log)).stop();
    expect(lines).to.deep.equal([]);
    await (await clockAhead(-2_000).watch(log)).stop();
    expect(lines).to.deep.equal([
      [{ aheadMs: -2_000 }, "the clock of this process is 2 s behind the clock of the server: run NTP"],
    ]);
  });
});
