import { expect } from "chai";
import type { MembershipChange } from "../../src/entities/membership-index.js";
import { membershipCollections, mongoMembershipIndex } from "../../src/stores/mongodb/membership-index.js";
import { membershipIndexContract, type OpenIndex } from "../contracts/membership-index.contract.js";
import { type CallHook, heldDatabase, holdFirst } from "../support/held-database.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

/** The index beside the part of the entity store that says which ids are dead. */
async function open(): Promise<OpenIndex & { readonly database: TestDatabase }> {
  const database = await openTestDatabase([...membershipCollections, { name: "entities", indexes: [] }]);
  const entities = database.db.collection<{ _id: string; state: string }>("entities");
  return {
    database,
    index: mongoMembershipIndex(database.db),
    kill: async (ids) => {
      await entities.insertMany(ids.map((_id) => ({ _id, state: "dead" })));
    },
    close: () => database.close(),
  };
}

onServers(["mongodb"], "mongodb", () => {
  membershipIndexContract("mongodb", open, { runs: 12 });

  describe("memberships in several processes", () => {
    let opened: Awaited<ReturnType<typeof open>>;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const process = (hook?: CallHook) => {
      const { db } = opened.database;
      return mongoMembershipIndex(hook === undefined ? db : heldDatabase(db, hook));
    };
    const says = (entity: string, time: number, add: string[], full = false): MembershipChange => ({
      entity,
      stamp: { time, arrival: 1, position: 0 },
      add,
      remove: [],
      full,
    });

    it("keep every statement that three make about the same entities at the same moment", async () => {
      const people = ["a", "b", "c", "d"];
      await Promise.all(
        [1, 2, 3].flatMap((writer) =>
          [1, 2, 3].map((round) =>
            process().apply(people.map((entity) => says(entity, round, [`${writer} ${round}`]))),
          ),
        ),
      );
      for (const entity of people) expect(await opened.index.segmentsOf(entity)).to.have.length(9);
    });

    it("keep what is said of an entity while another joins it, in one of both", async () => {
      for (let round = 0; round < 5; round += 1) {
        const [from, into] = [`from ${round}`, `into ${round}`];
        await opened.index.apply([says(from, 1, ["old"]), says(into, 1, ["own"])]);
        await Promise.all([
          process().join(from, into),
          process().apply([says(from, 2, ["new"])]),
          process().join(from, into),
          process().apply([says(into, 2, ["newer"])]),
        ]);
        await opened.index.join(from, into);
        expect(await opened.index.segmentsOf(into)).to.deep.equal(["new", "newer", "old", "own"]);
        expect(await opened.index.holds([from])).to.equal(false);
      }
    });

    it("keep what is said of an entity between its reading by a join and its end", async () => {
      await opened.index.apply([says("from", 1, ["old"])]);
      const slow = holdFirst("memberships.deleteOne");
      const joining = process(slow.hook).join("from", "into");
      await slow.reached;
      await process().join("from", "into");
      await process().apply([says("from", 2, ["new"])]);
      slow.release();
      await joining;
      expect(await opened.index.segmentsOf("into")).to.deep.equal(["new", "old"]);
      expect(await opened.index.holds(["from"])).to.equal(false);
    });

    for (const { what, before } of [
      { what: "first said something", before: [] },
      { what: "said something more", before: [says("person", 1, ["a"])] },
    ]) {
      it(`refuse a writer that ${what} before an erasure, and slept through it`, async () => {
        await opened.index.apply(before);
        const slow = holdFirst("memberships.bulkWrite");
        const applying = process(slow.hook).apply([says("person", 2, ["b"])]);
        await slow.reached;
        await opened.kill(["person"]);
        await process().erase(["person"]);
        slow.release();
        await applying;
        expect(await opened.index.holds(["person"])).to.equal(false);
        expect(await opened.index.sizes(["a", "b"])).to.deep.equal([0, 0]);
      });
    }

    it("refuse a join that slept through the erasure of what it leads to", async () => {
      await opened.index.apply([says("from", 1, ["a"]), says("into", 1, ["b"])]);
      const slow = holdFirst("memberships.bulkWrite");
      const joining = process(slow.hook).join("from", "into");
      await slow.reached;
      await opened.kill(["into"]);
      await process().erase(["into"]);
      slow.release();
      await joining;
      expect(await opened.index.holds(["from", "into"])).to.equal(false);
    });

    it("erase an entity that comes to be in the same moment", async () => {
      await opened.kill(["person"]);
      const slow = holdFirst("memberships.bulkWrite");
      const erasing = process(slow.hook).erase(["person"]);
      await slow.reached;
      await opened.database.db.collection<{ _id: string; in: string[] }>("memberships").insertOne({
        _id: "person",
        in: ["a"],
      });
      slow.release();
      await erasing;
      expect(await opened.index.holds(["person"])).to.equal(false);
    });

    it("leave one document, without a segment, of an erased entity", async () => {
      await opened.index.apply([says("person", 1, ["a"], true)]);
      await opened.index.erase(["person"]);
      expect(await opened.database.db.collection("memberships").find().toArray()).to.deep.equal([
        { _id: "person", dead: true },
      ]);
    });

    it("take a segment away while others still say that there are members", async () => {
      const people = Array.from({ length: 20 }, (_, at) => `person ${at}`);
      await opened.index.apply(people.map((entity) => says(entity, 1, ["gone", "stays"])));
      await Promise.all([
        process().removeSegment("gone"),
        process().apply(people.map((entity) => says(entity, 2, ["other"]))),
        process().removeSegment("gone"),
      ]);
      expect(await opened.index.sizes(["gone", "stays", "other"])).to.deep.equal([0, 20, 20]);
    });
  });
});
