import { expect } from "chai";
import { noScope, type OpenLedger, someDeletion } from "./ledger.contract.js";

/** Promises of every engine on the suppression. */
export function suppressionContract(name: string, open: () => Promise<OpenLedger>): void {
  describe(`the suppression of ${name}`, () => {
    let at: OpenLedger;

    beforeEach(async () => {
      at = await open();
    });
    afterEach(() => at.close());

    const timesOf = async (hashes: readonly string[]) =>
      new Map([...(await at.suppression.cutOffs(hashes))].map(([hash, { time }]) => [hash, time]));

    it("contains every identity and entity of a request from its acceptance, also after its completion", async () => {
      const { ledger, suppression } = at;
      expect(await suppression.cutOffs(["hash-a"])).to.deep.equal(new Map());
      await ledger.accept(someDeletion("a", { acceptedAt: 1000.25 }), noScope);
      for (const _ of ["open", "complete"]) {
        expect(await timesOf(["hash-a", "other-a", "unknown"])).to.deep.equal(
          new Map([
            ["hash-a", 1000.25],
            ["other-a", 1000.25],
          ]),
        );
        expect(await suppression.erased(["entity-a", "unknown"])).to.deep.equal(new Set(["entity-a"]));
        await ledger.complete("a-1700000000", 2000, {});
      }
    });

    it("returns the newest cut-off of several requests", async () => {
      await at.ledger.accept(someDeletion("a", { acceptedAt: 3000 }), noScope);
      await at.ledger.accept(someDeletion("b", { acceptedAt: 2000, hashes: ["hash-b", "hash-a"] }), noScope);
      expect(await timesOf(["hash-a", "hash-b"])).to.deep.equal(
        new Map([
          ["hash-a", 3000],
          ["hash-b", 2000],
        ]),
      );
    });

    it("returns a greater position for each later deletion of an identity, whatever its cut-off", async () => {
      const positions: string[] = [];
      for (const [index, acceptedAt] of [3000, 1000, 2000, 3000].entries()) {
        await at.ledger.accept(someDeletion(`${index}`, { acceptedAt, hashes: ["one"] }), noScope);
        positions.push((await at.suppression.cutOffs(["one"])).get("one")?.position ?? "");
      }
      expect(positions).to.deep.equal([...new Set(positions)].sort());
    });

    it("contains an identity until the last request over it expires", async () => {
      const { ledger, suppression } = at;
      for (const name of ["a", "b"]) await ledger.accept(someDeletion(name, { hashes: ["one"] }), noScope);
      await ledger.complete("a-1700000000", 2000, {});
      await ledger.complete("b-1700000000", 3000, {});
      const isSuppressed = [];
      for (const before of [2001, 3001]) {
        await ledger.expire(before, true);
        isSuppressed.push((await suppression.cutOffs(["one"])).has("one"));
      }
      expect(isSuppressed).to.deep.equal([true, false]);
    });

    it("stores one cut-off for an identity, however many requests name it", async () => {
      const { ledger, countErased } = at;
      for (const name of ["a", "b", "c"]) {
        await ledger.accept(someDeletion(name, { hashes: ["one"] }), noScope);
        await ledger.complete(`${name}-1700000000`, 2000, {});
      }
      expect(await countErased()).to.equal(1);
    });
  });
}
