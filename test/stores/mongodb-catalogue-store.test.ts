import { expect } from "chai";
import type { CatalogueStore } from "../../src/catalogue/catalogue-store.js";
import { catalogueStoreContract } from "../contracts/catalogue-store.contract.js";
import { openTestEngine, type TestEngine } from "../support/mongo-engine.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  catalogueStoreContract("mongodb", async () => ({
    catalogue: engine.stores.catalogue,
    close: () => engine.empty(),
  }));

  describe("a segment that one process deletes while another names it", () => {
    const experience = { id: "x", name: "X", audience: "a", goal: "b" };
    let catalogue: CatalogueStore;
    let other: CatalogueStore;

    before(async () => {
      catalogue = engine.stores.catalogue;
      other = (await engine.another()).catalogue;
    });
    beforeEach(async () => {
      for (const id of ["a", "b"]) await catalogue.putSegment({ id, name: id, table: "user" });
    });
    afterEach(() => engine.empty());

    it("never is named and gone, when several put and delete at the same moment", async () => {
      for (let round = 0; round < 20; round += 1) {
        const [outcome, ...puts] = await Promise.all([
          catalogue.deleteSegment("b"),
          ...[catalogue, other, other].map((store, at) => store.putExperience({ ...experience, name: `${at}` })),
        ]);
        const [segment, named] = [await catalogue.segment("b"), await catalogue.experience("x")];
        if (outcome === "deleted") expect([segment, named]).to.deep.equal([undefined, undefined]);
        else expect([outcome, segment?.id, named?.goal]).to.deep.equal(["in-use", "b", "b"]);
        expect(puts.some(({ missing }) => missing.length === 0)).to.equal(outcome === "in-use");
        await catalogue.deleteExperience("x");
        await catalogue.putSegment({ id: "b", name: "b", table: "user" });
      }
    });

    it("is not forgotten as removed when it is put again, and is no longer listed as removed after", async () => {
      await catalogue.deleteSegment("b");
      await other.putSegment({ id: "b", name: "again", table: "user" });
      expect(await catalogue.removed(9)).to.deep.equal(["b"]);
      await catalogue.forgetRemoved("b");
      expect(await catalogue.removed(9)).to.deep.equal([]);
      expect((await catalogue.segment("b"))?.name).to.equal("again");
    });
  });
});
