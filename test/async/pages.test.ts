import { expect } from "chai";
import { eachPage } from "../../src/async/pages.js";

describe("a walk over the pages of a list", () => {
  for (const [count, expected] of [
    [0, []],
    [3, [[0, 1, 2]]],
    [4, [[0, 1, 2], [3]]],
  ] as const) {
    it(`returns ${count} items in pages of three, each once and in order, and no empty page`, async () => {
      const read = async (last = -1, limit: number) =>
        Array.from({ length: Math.min(limit, count - last - 1) }, (_, i) => last + 1 + i);
      const pages: (readonly number[])[] = [];
      for await (const page of eachPage<number>(read, 3)) pages.push(page);
      expect(pages).to.deep.equal(expected);
    });
  }
});
