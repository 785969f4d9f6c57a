import { expect } from "chai";
import type { Changes } from "../../src/metrics/changes.js";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { stream } from "../../src/metrics/dimensions/stream.js";

/** What every engine promises of the news of writes. */
export function changesContract(name: string, open: () => Promise<{ changes: Changes; close(): Promise<void> }>): void {
  describe(`news of writes: ${name}`, () => {
    let changes: Changes;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      changes = opened.changes;
      close = () => opened.close();
    });
    afterEach(() => close());

    const windowOf = (id: string) => ({ series: { dimension: stream, id, type: "size" }, from: 0, to: HOUR });

    it("tells every listener of each announcement, in order, before the announcement resolves", async () => {
      const heard: string[][] = [[], []];
      for (const list of heard) {
        changes.listen((phase, windows) => list.push(`${phase} ${windows.map(({ series }) => series.id).join(" ")}`));
      }
      await changes.announce("begin", [windowOf("a"), windowOf("b")]);
      await changes.announce("begin", [windowOf("c")]);
      await changes.announce("end", [windowOf("a"), windowOf("b")]);
      const expected = ["begin a b", "begin c", "end a b"];
      expect(heard).to.deep.equal([expected, expected]);
    });

    it("stays in one era while nothing can have been missed", async () => {
      const era = changes.era();
      expect(era).to.be.a("number");
      await changes.announce("begin", [windowOf("a")]);
      await changes.announce("end", [windowOf("a")]);
      expect(changes.era()).to.equal(era);
    });
  });
}
