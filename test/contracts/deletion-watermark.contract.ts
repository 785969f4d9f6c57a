import { expect } from "chai";
import type { DeletionWatermark } from "../../src/deletions/ports.js";

/** Promises of every engine on the watermark. */
export function deletionWatermarkContract(
  name: string,
  open: () => Promise<{ watermark: DeletionWatermark; close(): Promise<void> }>,
): void {
  describe(`the deletion watermark of ${name}`, () => {
    it("is 0 at first, and never goes down", async () => {
      const { watermark, close } = await open();
      const seen = [await watermark.read()];
      for (const sequence of [5, 3, 7]) {
        await watermark.write(sequence);
        seen.push(await watermark.read());
      }
      await close();
      expect(seen).to.deep.equal([0, 5, 5, 7]);
    });
  });
}
