import { expect } from "chai";
import type { CatalogueStore } from "../../../../src/catalogue/ports.js";
import { deleteSegment } from "../../../../src/catalogue/segments.js";
import { mongoCatalogueStore } from "../../../../src/stores/mongodb/catalogue/catalogue-store.js";
import { promised } from "../../../../src/stores/mongodb/connection.js";
import { keyWrapping } from "../../../../src/stores/mongodb/profiles/entity-keys.js";
import { mongoEntityStore } from "../../../../src/stores/mongodb/profiles/entity-store.js";
import { type Transact, transactions } from "../../../../src/stores/mongodb/transaction.js";
import { catalogueStoreContract } from "../../../contracts/catalogue-store.contract.js";
import { markStoreContract } from "../../../contracts/mark-store.contract.js";
import { changeOf, commitOf, freshEntity, keep } from "../../../support/commits.js";
import { databaseThrough, HeldCalls } from "../../../support/held-calls.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine, type TestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  catalogueStoreContract("mongodb", async () => ({
    catalogue: engine.stores.catalogue,
    marks: engine.stores.marks,
    close: () => engine.empty(),
  }));

  markStoreContract("mongodb", async () => ({ marks: engine.stores.marks, close: () => engine.empty() }));

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

    it("is not deleted while an experience names it, also if processes put and delete concurrently", async () => {
      for (let round = 0; round < 20; round += 1) {
        const [outcome, ...puts] = await Promise.all([
          catalogue.deleteSegment("b", 1),
          ...[catalogue, other, other].map((store, at) => store.putExperience({ ...experience, name: `${at}` })),
        ]);
        const [segment, named] = [
          (await catalogue.segmentsById(["b"])).get("b"),
          (await catalogue.experiencesById(["x"])).get("x"),
        ];
        if (outcome === "deleted") expect([segment, named]).to.deep.equal([undefined, undefined]);
        else expect([segment?.id, named?.goal]).to.deep.equal(["b", "b"]);
        expect(puts.some(({ missing }) => missing.length === 0)).to.equal(typeof outcome === "object");
        await catalogue.deleteExperience("x");
        await catalogue.putSegment({ id: "b", name: "b", table: "user" });
      }
    });
  });

  for (const at of [0, 1]) {
    it(`stores an experience unless it reports a missing segment, also one that is put before operation ${at}`, async () => {
      const { catalogue } = engine.stores;
      await catalogue.putSegment({ id: "a", name: "a", table: "user" });
      const calls = new HeldCalls();
      const reached = calls.hold(at);
      const db = databaseThrough(engine.client.db(engine.name, promised), calls.around);
      const putting = mongoCatalogueStore(db, transactions(engine.client, 10_000)).putExperience({
        id: "x",
        name: "X",
        audience: "a",
        goal: "late",
      });
      await Promise.race([reached, putting]);
      await catalogue.putSegment({ id: "late", name: "late", table: "user" });
      calls.release();
      const { missing } = await putting;
      const stored = (await catalogue.experiencesById(["x"])).get("x");
      await engine.empty();
      expect(stored === undefined).to.equal(missing.length > 0);
    });
  }

  describe("a segment that is deleted while a commit adds a member", () => {
    const parts = () => {
      const data = engine.client.db(engine.name, promised);
      const ledger = engine.client.db(`${engine.name}_ledger`, promised);
      return { data, ledger, transact: transactions(engine.client, 10_000) };
    };
    const DELETED_AT = 1_000;
    /** A commit of a new profile with the segment. */
    const member = async () => {
      const { deletions } = await engine.stores.entities.find([], 0, ["late"]);
      const change = changeOf(freshEntity(), [{ add: ["late"] }], [], deletions);
      return commitOf([change], { segments: [{ id: "late", table: "user" }], generation: deletions.newest });
    };
    const members = async () => (await engine.stores.memberships.sizes(["late"]))[0];
    const put = () => engine.stores.catalogue.putSegment({ id: "late", name: "late", table: "user" });

    beforeEach(put);
    afterEach(() => engine.empty());

    const removeVoid = async () => {
      while (await engine.stores.catalogue.endMemberships());
    };
    const stored = () => engine.client.db(engine.name).collection("entities").countDocuments({ segments: "+late" });

    /** Deletes the segment while a commit that has read it is in progress, and then lets the commit continue. */
    async function deleteBeside(): Promise<void> {
      const calls = new HeldCalls();
      const reached = calls.hold();
      const { transact, ...own } = parts();
      const held: Transact = (work) =>
        transact(async (session) => {
          const result = await work(session);
          await calls.around(async () => {}, "commit");
          return result;
        });
      const wrapping = keyWrapping(Buffer.alloc(32));
      const entities = mongoEntityStore({ ...own, deadlineMs: 10_000, wrapping, hooks: [], transact: held });
      const kept = entities.commit(await member());
      await reached;
      await deleteSegment("late", DELETED_AT, engine.stores.catalogue);
      calls.release();
      expect(await kept).to.equal(true);
    }

    it("has no member, and an update that was stored after the deletion is removed", async () => {
      await deleteBeside();
      expect(await stored()).to.equal(1);
      expect(await members()).to.equal(0);
      await removeVoid();
      expect(await stored()).to.equal(0);
      expect((await engine.stores.catalogue.segmentsById(["late"])).get("late")).to.equal(undefined);
    });

    it("has only the member of a later message", async () => {
      await deleteBeside();
      expect(await engine.stores.entities.commit(await member())).to.equal(true);
      expect(await members()).to.equal(1);
      await removeVoid();
      expect(await members()).to.equal(1);
      expect(await stored()).to.equal(1);
    });

    it("is searched for void updates until five minutes have passed and none is found", async () => {
      const removed = engine.client.db(engine.name).collection<{ _id: string; lookUntil?: Date }>("removed_segments");
      const ended = () => removed.countDocuments({ lookUntil: { $exists: false } });
      await keep(engine.stores.entities, freshEntity(), { said: [{ add: ["late"] }] });
      const outdated = await member();
      await deleteSegment("late", DELETED_AT, engine.stores.catalogue);
      await removed.updateOne({ _id: "late" }, { $set: { lookUntil: new Date(1) } });
      await removeVoid();
      expect(await ended()).to.equal(0);
      expect(await stored()).to.equal(0);
      await removeVoid();
      expect(await ended()).to.equal(1);
      expect(await engine.stores.entities.commit(outdated)).to.equal(false);
      expect(await stored()).to.equal(0);
    });

    it("needs few operations to remove void updates, however many segments were deleted lately", async () => {
      const ids = Array.from({ length: 20 }, (_, at) => `gone ${at}`);
      for (const id of ids) await engine.stores.catalogue.putSegment({ id, name: id, table: "user" });
      for (const id of ids) await engine.stores.catalogue.deleteSegment(id, DELETED_AT);
      await removeVoid();
      const calls = new HeldCalls();
      const { data, transact } = parts();
      await mongoCatalogueStore(databaseThrough(data, calls.around), transact).endMemberships();
      expect(calls.count).to.be.at.least(1).and.at.most(5);
    });

    for (const at of [0, 1, 2, 3]) {
      it(`loses no newer member to a removal that is held before operation ${at}`, async () => {
        await keep(engine.stores.entities, freshEntity(), { said: [{ add: ["late"] }] });
        await engine.stores.catalogue.deleteSegment("late", DELETED_AT);
        const calls = new HeldCalls();
        const reached = calls.hold(at);
        const { data, transact } = parts();
        const ending = mongoCatalogueStore(databaseThrough(data, calls.around), transact).endMemberships();
        await reached;
        await removeVoid();
        expect(await engine.stores.entities.commit(await member())).to.equal(true);
        calls.release();
        await ending;
        await removeVoid();
        expect(await members()).to.equal(1);
        expect(await stored()).to.equal(1);
      });
    }
  });
});
