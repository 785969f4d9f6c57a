import { expect } from "chai";
import type { EntityKeys } from "../../src/entities/entity-keys.js";

export interface OpenEntityKeys {
  readonly keys: EntityKeys;
  /** How many of these byte strings stand in any file of the store; undefined where the test cannot see the files. */
  countHeld(strings: readonly Uint8Array[]): number | undefined;
  close(): Promise<void>;
}

/** What every engine promises of entity keys; `records` is how many are written around those that are destroyed. */
export function entityKeysContract(name: string, open: () => Promise<OpenEntityKeys>, records = 3000): void {
  describe(`the entity keys of ${name}`, () => {
    let at: OpenEntityKeys;
    let keys: EntityKeys;

    beforeEach(async () => {
      at = await open();
      keys = at.keys;
    });
    afterEach(() => at.close());

    it("makes 32 random bytes for each id, and leaves a key that is there", async () => {
      const made = await keys.create(["a", "b", "a"]);
      const before = await keys.read(["a", "b", "c"]);
      expect(made).to.deep.equal(before);
      expect([...(await keys.create(["a", "b", "c"])).keys()]).to.deep.equal(["c"]);
      expect([...(await keys.create([])).keys()]).to.deep.equal([]);
      const after = await keys.read(["a", "b", "c"]);
      expect([...before.keys()].sort()).to.deep.equal(["a", "b"]);
      expect(before.get("a")).to.have.length(32);
      expect(before.get("a")).to.not.deep.equal(before.get("b"));
      expect(after.get("a")).to.deep.equal(before.get("a"));
      expect([...after.keys()].sort()).to.deep.equal(["a", "b", "c"]);
    });

    it("hands out no destroyed key, and never makes another for its id", async () => {
      await keys.create(["a", "b"]);
      await keys.destroy(["a", "unknown"]);
      await keys.destroy(["a"]);
      await keys.create(["a"]);
      expect([...(await keys.read(["a", "b"])).keys()]).to.deep.equal(["b"]);
      expect(await keys.holds(["a"])).to.equal(false);
      expect(await keys.holds(["a", "b"])).to.equal(true);
      expect([...(await keys.destroyed(["a", "b", "unknown"]))]).to.deep.equal(["a"]);
      expect([...(await keys.destroyed([]))]).to.deep.equal([]);
    });

    it("leaves no byte of a destroyed key in any file, whatever was written around it", async () => {
      const ids = Array.from({ length: records }, (_, index) => `entity-${index}`);
      for (let from = 0; from < ids.length; from += 7) await keys.create(ids.slice(from, from + 7));
      const doomed = ids.filter((_, index) => index % 3 !== 0);
      const noted = await keys.read(doomed);
      expect(at.countHeld([...noted.values()])).to.be.oneOf([doomed.length, undefined]);
      for (let from = 0; from < doomed.length; from += 100) await keys.destroy(doomed.slice(from, from + 100));
      await keys.create(ids.map((id) => `later-${id}`));
      expect(at.countHeld([...noted.values()])).to.be.oneOf([0, undefined]);
      expect((await keys.read(ids)).size).to.equal(ids.length - doomed.length);
    });
  });
}
