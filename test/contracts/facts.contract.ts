import { expect } from "chai";
import type { Facts } from "../../src/facts.js";

/** Promises of every engine on facts. */
export function factsContract(name: string, open: () => Promise<{ facts: Facts; close(): Promise<void> }>): void {
  describe(`the facts of ${name}`, () => {
    let facts: Facts;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      facts = opened.facts;
      close = () => opened.close();
    });
    afterEach(() => close());

    it("keep the first text that is set, for three concurrent writers too", async () => {
      expect(await facts.text("a")).to.equal(undefined);
      const [stored, ...others] = await Promise.all(["1", "2", "3"].map((text) => facts.textOnce("a", text)));
      expect(others).to.deep.equal([stored, stored]);
      expect([await facts.textOnce("a", "4"), await facts.text("a")]).to.deep.equal([stored, stored]);
    });

    it("have a text that is replaced only by a writer that has read it last", async () => {
      expect(await facts.replaceText("a", "a", "b"), "nothing is stored").to.equal(false);
      expect(await facts.replaceText("a", undefined, "a")).to.equal(true);
      expect(await facts.replaceText("a", undefined, "b"), "it was stored since").to.equal(false);
      expect(await facts.text("a")).to.equal("a");
      expect(await facts.replaceText("a", "a", "ä🙂")).to.equal(true);
      expect(await facts.replaceText("a", "a", "c"), "it was replaced since").to.equal(false);
      expect(await facts.text("a")).to.equal("ä🙂");
    });

    it("have a text that is replaced by one of three concurrent writers", async () => {
      for (const before of [undefined, "0"]) {
        const texts = [0, 1, 2].map((writer) => (before === undefined ? "0" : `${writer} won`));
        const round = texts.map((text) => facts.replaceText("a", before, text));
        expect((await Promise.all(round)).filter(Boolean)).to.have.length(1);
      }
    });

    it("can have a text of a megabyte", async () => {
      const text = "x".repeat(1_048_576);
      expect(await facts.replaceText("a", undefined, text)).to.equal(true);
      expect(await facts.replaceText("a", text, `${text}y`)).to.equal(true);
      expect(await facts.text("a")).to.equal(`${text}y`);
    });

    it("have a number that is 0 at first, and never decreases", async () => {
      const seen = [await facts.number("n")];
      for (const number of [5, 3, 7]) {
        await facts.raise("n", number);
        seen.push(await facts.number("n"));
      }
      expect(seen).to.deep.equal([0, 5, 5, 7]);
    });
  });
}
