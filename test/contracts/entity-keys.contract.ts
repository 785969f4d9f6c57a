import { randomBytes } from "node:crypto";
import { expect } from "chai";
import type { EntityKeys } from "../../src/entities/ports.js";

export interface OpenEntityKeys {
  readonly keys: EntityKeys;
  /** Keeps keys, as a commit and the ledger do. */
  add(keys: ReadonlyMap<string, Uint8Array>): Promise<void>;
  /** Returns the number of these byte strings in all files of the store; undefined if the test cannot see the files. */
  countHeld(strings: readonly Uint8Array[]): number | undefined;
  close(): Promise<void>;
}

/** A random key for each id. */
export function newKeys(ids: readonly string[]): Map<string, Uint8Array> {
  return new Map(ids.map((id) => [id, new Uint8Array(randomBytes(32))]));
}

/** Promises of every engine on entity keys; `records`: how many keys are written in all. */
export function entityKeysContract(name: string, open: () => Promise<OpenEntityKeys>, records = 3000): void {
  describe(`the store of entity keys of ${name}`, () => {
    let at: OpenEntityKeys;
    let keys: EntityKeys;

    beforeEach(async () => {
      at = await open();
      keys = at.keys;
    });
    afterEach(() => at.close());

    const isRefused = (more: ReadonlyMap<string, Uint8Array>) =>
      at.add(more).then(
        () => false,
        () => true,
      );

    it("returns the keys that were added, and adds none to an id that has one", async () => {
      const made = newKeys(["a", "b"]);
      await at.add(made);
      expect(await keys.read(["a", "b", "c"])).to.deep.equal(made);
      expect(await isRefused(newKeys(["a"]))).to.equal(true);
      expect(await keys.read(["a", "b"])).to.deep.equal(made);
    });

    it("returns no destroyed key, and adds no other to its id", async () => {
      await at.add(newKeys(["a", "b"]));
      await keys.destroy(["a", "unknown"]);
      await keys.destroy(["a"]);
      expect(await isRefused(newKeys(["a"]))).to.equal(true);
      expect([...(await keys.read(["a", "b"])).keys()]).to.deep.equal(["b"]);
      expect([...(await keys.destroyed(["a", "b", "unknown"]))]).to.deep.equal(["a"]);
      expect([...(await keys.destroyed([]))]).to.deep.equal([]);
    });

    it("lists the ids that ever had a key in pages, and which keys were destroyed", async () => {
      await at.add(newKeys(["c", "a", "b"]));
      await keys.destroy(["b"]);
      const a = { id: "a", isDestroyed: false };
      const b = { id: "b", isDestroyed: true };
      expect(await keys.list("", 2)).to.deep.equal([a, b]);
      expect(await keys.list("b", 2)).to.deep.equal([{ id: "c", isDestroyed: false }]);
      expect(await keys.list("c", 2)).to.deep.equal([]);
    });

    it("leaves no byte of a destroyed key in any file, whatever was written around it", async () => {
      const ids = Array.from({ length: records }, (_, index) => `entity-${index}`);
      for (let from = 0; from < ids.length; from += 7) await at.add(newKeys(ids.slice(from, from + 7)));
      const doomed = ids.filter((_, index) => index % 3 !== 0);
      const noted = await keys.read(doomed);
      expect(at.countHeld([...noted.values()])).to.be.oneOf([doomed.length, undefined]);
      for (let from = 0; from < doomed.length; from += 100) await keys.destroy(doomed.slice(from, from + 100));
      await at.add(newKeys(ids.map((id) => `later-${id}`)));
      expect(at.countHeld([...noted.values()])).to.be.oneOf([0, undefined]);
      expect((await keys.read(ids)).size).to.equal(ids.length - doomed.length);
    });
  });
}
