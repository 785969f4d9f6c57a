import { expect } from "chai";
import type { WakeUp } from "../../src/deletions/ports.js";
import { until } from "../support/until.js";

/** What every engine promises of wake-up calls, as long as none is lost. */
export function wakeUpContract(name: string, open: () => Promise<{ wakeUp: WakeUp; close(): Promise<void> }>): void {
  describe(`the wake-up calls of ${name}`, () => {
    let wakeUp: WakeUp;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ wakeUp, close } = await open());
    });
    afterEach(() => close());

    it("run for each hint, also for hints given before there was a listener", async () => {
      const ran = new Set<string>();
      wakeUp.hint("before");
      wakeUp.listen(async (requestId) => void ran.add(requestId));
      for (let index = 0; index < 50; index += 1) wakeUp.hint(`request-${index}`);
      await until("all have run", () => ran.size === 51);
    });

    it("go on after a run that failed", async () => {
      const ran: string[] = [];
      wakeUp.listen(async (requestId) => {
        ran.push(requestId);
        throw new Error("in vain");
      });
      wakeUp.hint("one");
      await until("the first has run", () => ran.includes("one"));
      wakeUp.hint("two");
      await until("the second has run", () => ran.includes("two"));
    });

    it("run not before the delay of a hint is over, also of one that is given while the request runs", async () => {
      const delays = [400, 300, 200];
      const waited: { delay: number; ms: number }[] = [];
      let hinted = performance.now();
      const hintNext = () => {
        hinted = performance.now();
        wakeUp.hint("one", delays[waited.length]);
      };
      wakeUp.listen(async () => {
        waited.push({ delay: delays[waited.length] ?? 0, ms: performance.now() - hinted });
        if (waited.length < delays.length) hintNext();
      });
      hintNext();
      await until("it has run after each delay", () => waited.length === delays.length);
      // Timers of the machine may be a millisecond early.
      expect(waited.filter(({ delay, ms }) => ms < delay - 2)).to.deep.equal([]);
    });

    it("run at once for a hint without a delay, and soon for one with a shorter delay, while one for later is kept", async () => {
      const ran: string[] = [];
      wakeUp.listen(async (requestId) => void ran.push(requestId));
      for (const requestId of ["now", "soon"]) wakeUp.hint(requestId, 3_600_000);
      wakeUp.hint("now");
      wakeUp.hint("soon", 100);
      await until("both have run", () => ran.length === 2);
      expect(ran.sort()).to.deep.equal(["now", "soon"]);
    });

    it("run once or twice for many hints of one request for one later instant", async () => {
      const ran: string[] = [];
      wakeUp.listen(async (requestId) => void ran.push(requestId));
      for (let index = 0; index < 50; index += 1) wakeUp.hint("one", 300);
      wakeUp.hint("later", 1_000);
      await until("the later one has run", () => ran.includes("later"));
      // The instant may have changed between two of the hints.
      expect(ran.filter((requestId) => requestId === "one").length).to.be.within(1, 2);
    });

    it("stop only when no run is under way, and then run no more", async () => {
      let running = 0;
      let finish = () => {};
      const held = new Promise<void>((resolve) => {
        finish = resolve;
      });
      wakeUp.listen(async () => {
        running += 1;
        await held;
        running -= 1;
      });
      wakeUp.hint("one");
      await until("it runs", () => running === 1);
      const closed = wakeUp.close();
      wakeUp.hint("two");
      finish();
      await closed;
      expect(running).to.equal(0);
    });
  });
}
