import { expect } from "chai";
import type { WakeUp } from "../../src/deletions/ports.js";
import { until } from "../support/until.js";

/** Promises of every engine on wake-up calls, as long as none is lost. */
export function wakeUpContract(name: string, open: () => Promise<{ wakeUp: WakeUp; close(): Promise<void> }>): void {
  describe(`the wake-up calls of ${name}`, () => {
    let wakeUp: WakeUp;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ wakeUp, close } = await open());
    });
    afterEach(() => close());

    it("run for each hint", async () => {
      const ran = new Set<string>();
      wakeUp.listen(async (requestId) => void ran.add(requestId));
      for (let index = 0; index < 50; index += 1) wakeUp.hint(`request-${index}`);
      await until("all have run", () => ran.size === 50);
    });

    it("continue after a run that failed", async () => {
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

    it("stop only when no run is in progress, and then run no more", async () => {
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
