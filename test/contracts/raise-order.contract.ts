import { expect } from "chai";
import { orderClock, type RaiseOrder, settingSources } from "../../src/metrics/ports.js";

/** Promises of every engine on the orders of writes. */
export function raiseOrderContract(
  name: string,
  open: () => Promise<{ raiseOrder: RaiseOrder; close(): Promise<void> }>,
): void {
  describe(`the orders of writes of ${name}`, () => {
    let raise: RaiseOrder;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      raise = opened.raiseOrder;
      close = () => opened.close();
    });
    afterEach(() => close());

    it("are raised by at least 1 each time, also by concurrent callers, and separately for each source", async () => {
      for (const source of settingSources) {
        const first = await raise(source);
        const concurrent = await Promise.all(Array.from({ length: 30 }, () => raise(source)));
        expect(new Set(concurrent)).to.have.property("size", 30);
        expect(Math.min(...concurrent)).to.be.above(first);
        expect(await raise(source)).to.be.above(Math.max(...concurrent));
      }
    });

    it("follow the clock, so that they are higher also after older data was restored", async () => {
      const { sinceMs, untilMs, unitMs } = orderClock;
      const minute = 60_000 / unitMs;
      const now = (Date.now() - sinceMs) / unitMs;
      for (const source of settingSources) expect(await raise(source)).to.be.within(now - minute, now + minute);
      expect((untilMs - sinceMs) / unitMs, "the ns of the shortest slot").to.be.below(3_600_000_000_000);
    });
  });
}
