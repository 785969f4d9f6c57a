import { expect } from "chai";
import type { Mark, MarkStore } from "../../src/catalogue/ports.js";

/** Promises of every engine on marks. */
export function markStoreContract(
  name: string,
  open: () => Promise<{ marks: MarkStore; close(): Promise<void> }>,
): void {
  describe(`the mark store of ${name}`, () => {
    let opened: { marks: MarkStore; close(): Promise<void> };
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const release: Mark = { id: "b", at: 20, text: "Ä “quoted” 🙂" };
    const campaign: Mark = { id: "🙂", at: 10, text: "Campaign", dimension: "segment", dimensionId: "news" };
    const outage: Mark = { id: "\ue000", at: 30, text: "Outage", dimension: "stream" };

    it("returns marks as they were put last, and lists them by the UTF-8 bytes of their ids", async () => {
      const { marks } = opened;
      await marks.putMark({ ...release, dimension: "stream", dimensionId: "web" }, 9);
      for (const mark of [campaign, outage, release]) expect(await marks.putMark(mark, 9)).to.equal(true);
      expect(await marks.mark("b")).to.deep.equal(release);
      expect(await marks.mark("a")).to.equal(undefined);
      const all = { from: 0, to: 99 };
      expect(await marks.marks(all, undefined, 9)).to.deep.equal([release, outage, campaign]);
      expect(await marks.marks(all, "b", 1)).to.deep.equal([outage]);
      expect(await marks.marks({ from: 10, to: 30 }, undefined, 9)).to.deep.equal([release, campaign]);
      expect(await marks.marks({ ...all, dimension: "stream" }, undefined, 9)).to.deep.equal([outage]);
      const ofSegment = { ...all, dimension: "segment", dimensionId: "news" };
      expect(await marks.marks(ofSegment, undefined, 9)).to.deep.equal([campaign]);
      expect(await marks.marks({ ...ofSegment, dimensionId: "other" }, undefined, 9)).to.deep.equal([]);
    });

    it("refuses a new mark above the limit, replaces existing marks, and removes each once", async () => {
      const { marks } = opened;
      for (const mark of [release, campaign]) await marks.putMark(mark, 2);
      expect(await marks.putMark(outage, 2)).to.equal(false);
      expect(await marks.putMark({ ...release, at: 21 }, 2)).to.equal(true);
      expect(await marks.deleteMark("b")).to.equal(true);
      expect(await marks.deleteMark("b")).to.equal(false);
      expect(await marks.putMark(outage, 2)).to.equal(true);
      expect(await marks.marks({ from: 0, to: 99 }, undefined, 9)).to.deep.equal([outage, campaign]);
    });
  });
}
