import { expect } from "chai";
import type { CatalogueStore } from "../../src/catalogue/catalogue-store.js";
import { catalogueCollections } from "../../src/stores/mongodb/catalogue-documents.js";
import { mongoCatalogueStore } from "../../src/stores/mongodb/catalogue-store.js";
import { catalogueStoreContract } from "../contracts/catalogue-store.contract.js";
import { type CallHook, heldDatabase, holdFirst } from "../support/held-database.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  catalogueStoreContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(catalogueCollections);
    return { catalogue: mongoCatalogueStore(db), close };
  });

  describe("a segment that one process deletes while another names it", () => {
    let database: TestDatabase;
    let catalogue: CatalogueStore;

    beforeEach(async () => {
      database = await openTestDatabase(catalogueCollections);
      catalogue = mongoCatalogueStore(database.db);
      for (const id of ["a", "b"]) await catalogue.putSegment({ id, name: id, table: "user" });
    });
    afterEach(() => database.close());

    const process = (hook: CallHook) => mongoCatalogueStore(heldDatabase(database.db, hook));
    const experience = { id: "x", name: "X", audience: "a", goal: "b" };

    /** Both may have gone through only if they agree. */
    const agree = async () => {
      const [segment, named] = [await catalogue.segment("b"), await catalogue.experience("x")];
      expect(segment === undefined && named !== undefined, "an experience names a deleted segment").to.equal(false);
      return { segment: segment !== undefined, experience: named !== undefined };
    };

    /** Calls that a put and a deletion make, in their order. */
    const puts = ["segments.find", "experiences.updateOne", "segments.find", "experiences.replaceOne"];
    const deletes = ["segments.updateOne", "experiences.find", "segments.updateOne"];

    /** Holds the call with this number, counted from 0. */
    const holdCall = (number: number) => {
      const held = holdFirst("the call");
      let calls = 0;
      const hook: CallHook = () => (calls++ === number ? held.hook("the call") : undefined);
      return { ...held, hook };
    };

    for (const [at, call] of puts.entries()) {
      it(`stays or is missed when the put is held before call ${at + 1}, ${call}, and the deletion is not`, async () => {
        const slow = holdCall(at);
        const putting = process(slow.hook).putExperience(experience);
        await slow.reached;
        const outcome = await catalogue.deleteSegment("b");
        slow.release();
        const { missing } = await putting;
        const left = await agree();
        expect(outcome).to.equal("deleted");
        expect({ missing, left }).to.deep.equal({ missing: ["goal"], left: { segment: false, experience: false } });
      });
    }

    for (const [at, call] of deletes.entries()) {
      it(`stays when the deletion is held before call ${at + 1}, ${call}, and the put is not`, async () => {
        const slow = holdCall(at);
        const deleting = process(slow.hook).deleteSegment("b");
        await slow.reached;
        expect(await catalogue.putExperience(experience)).to.deep.equal({ missing: [] });
        slow.release();
        expect(await deleting).to.equal("in-use");
        expect(await agree()).to.deep.equal({ segment: true, experience: true });
      });
    }

    for (const [at, call] of puts.entries()) {
      it(`can be deleted when the put has died before call ${at + 1}, ${call}`, async () => {
        const dying = process(killed(at)).putExperience(experience);
        await dying.catch(() => {});
        expect(await catalogue.experience("x")).to.equal(undefined);
        expect(await catalogue.deleteSegment("b")).to.equal("deleted");
        expect(await catalogue.putExperience(experience)).to.deep.equal({ missing: ["goal"] });
        expect(await database.db.collection("experiences").countDocuments()).to.equal(0);
      });

      it(`keeps what the experience was when another put of it has died before call ${at + 1}, ${call}`, async () => {
        await catalogue.putExperience({ ...experience, goal: "a" });
        await process(killed(at))
          .putExperience(experience)
          .catch(() => {});
        expect(await catalogue.deleteSegment("b")).to.equal("deleted");
        expect(await catalogue.experience("x")).to.deep.equal({ ...experience, goal: "a" });
        expect(await catalogue.deleteSegment("a")).to.equal("in-use");
      });
    }

    for (const [at, call] of deletes.entries()) {
      it(`can be named when the deletion has died before call ${at + 1}, ${call}`, async () => {
        await process(killed(at))
          .deleteSegment("b")
          .catch(() => {});
        expect(await catalogue.putExperience(experience)).to.deep.equal({ missing: [] });
        expect(await catalogue.deleteSegment("b")).to.equal("in-use");
        await catalogue.deleteExperience("x");
        expect(await catalogue.deleteSegment("b")).to.equal("deleted");
      });
    }

    it("never is named and gone, when three put and delete at the same moment", async () => {
      const stores = [1, 2, 3].map(() => mongoCatalogueStore(database.db));
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(
          stores.flatMap((store, at) => [
            store.putExperience({ ...experience, name: `${at}` }),
            ...(at === round % 3 ? [store.deleteSegment("b")] : []),
          ]),
        );
        await agree();
        await catalogue.deleteExperience("x");
        await catalogue.putSegment({ id: "b", name: "b", table: "user" });
      }
    });

    it("is not forgotten as removed when it is put again, and is no longer listed as removed after", async () => {
      await catalogue.deleteSegment("b");
      await catalogue.registerSegments([{ id: "b", name: "again", table: "user" }]);
      expect(await catalogue.removed(9)).to.deep.equal(["b"]);
      await catalogue.forgetRemoved("b");
      expect(await catalogue.removed(9)).to.deep.equal([]);
      expect((await catalogue.segment("b"))?.name).to.equal("again");
    });
  });
});

/** A process that dies before the call with this number, counted from 0. */
function killed(at: number): CallHook {
  let calls = 0;
  return () => (calls++ >= at ? Promise.reject(new Error("The process is dead")) : undefined);
}
