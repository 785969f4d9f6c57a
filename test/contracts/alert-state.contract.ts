import { expect } from "chai";
import type { AlertState } from "../../src/metrics/ports.js";

/** Promises of every engine on the state of alerts. */
export function alertStateContract(
  name: string,
  open: () => Promise<{ alerts: AlertState; close(): Promise<void> }>,
): void {
  describe(`the state of alerts of ${name}`, () => {
    let state: AlertState;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      state = opened.alerts;
      close = () => opened.close();
    });
    afterEach(() => close());

    it("is replaced only by a writer that has read it last", async () => {
      expect(await state.read()).to.equal(undefined);
      expect(await state.replace("a", "b"), "nothing is stored").to.equal(false);
      expect(await state.replace(undefined, "a")).to.equal(true);
      expect(await state.replace(undefined, "b"), "it was stored since").to.equal(false);
      expect(await state.read()).to.equal("a");
      expect(await state.replace("a", "ä🙂")).to.equal(true);
      expect(await state.replace("a", "c"), "it was replaced since").to.equal(false);
      expect(await state.read()).to.equal("ä🙂");
    });

    it("is replaced by one of three concurrent writers", async () => {
      for (const before of [undefined, "0"]) {
        const round = [0, 1, 2].map((writer) => state.replace(before, before === undefined ? "0" : `${writer} won`));
        expect((await Promise.all(round)).filter(Boolean)).to.have.length(1);
      }
    });

    it("can have a megabyte", async () => {
      const text = "x".repeat(1_048_576);
      expect(await state.replace(undefined, text)).to.equal(true);
      expect(await state.replace(text, `${text}y`)).to.equal(true);
      expect(await state.read()).to.equal(`${text}y`);
    });
  });
}
