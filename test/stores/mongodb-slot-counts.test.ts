import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { historyCollections } from "../../src/stores/mongodb/history-documents.js";
import { countOnce, mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
import { slotCountsContract } from "../contracts/slot-counts.contract.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;

onServers(["mongodb"], "mongodb: stream counts", () => {
  slotCountsContract("mongodb", async () => {
    const { db, close } = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
    const history = mongoHistory(db, HOUR);
    return {
      counts: mongoSlotCounts(db),
      close,
      async count(stream, slot) {
        const id = randomBytes(16).toString("hex");
        const stamp = { time: slot + 1, arrival: 1, position: 0 };
        const sealed = Uint8Array.of(1);
        await history.append([{ id, table: "user", stream, entity: id, hashes: [], ...stamp, sealed }]);
        await history.settle([id]);
      },
    };
  });

  describe("of several lanes", () => {
    let database: TestDatabase;

    beforeEach(async () => {
      database = await openTestDatabase(slotCountsCollections);
    });
    afterEach(() => database.close());

    const added = [
      { stream: "app", slot: HOUR, count: 1 },
      { stream: "web", slot: HOUR, count: 2 },
    ];
    const unsaved = () => mongoSlotCounts(database.db).unsaved(EVER, 99);
    const counted = async () => (await unsaved()).map(({ stream, count }) => [stream, count]);

    it("adds a settlement once, however often and late it is told", async () => {
      const count = countOnce(database.db);
      for (let times = 0; times < 2; times += 1) await count(added, "aa", 1);
      await count(added.slice(0, 1), "aa", 2);
      await count(added, "aa", 1);
      await count(added, "bb", 1);
      expect(await counted()).to.deep.equal([
        ["app", 3],
        ["web", 4],
      ]);
    });

    it("adds what half of it held already", async () => {
      const count = countOnce(database.db);
      await count(added.slice(1), "aa", 1);
      await count(added, "aa", 1);
      expect(await counted()).to.deep.equal([
        ["app", 1],
        ["web", 2],
      ]);
    });

    it("adds for each of many lanes that begin a count at once", async () => {
      const lanes = ["aa", "bb", "cc", "dd", "ee"];
      await Promise.all(
        lanes.flatMap((lane) => [
          countOnce(database.db)(added, lane, 1),
          countOnce(database.db)([...added].reverse(), lane, 1),
        ]),
      );
      expect(await counted()).to.deep.equal([
        ["app", 5],
        ["web", 10],
      ]);
    });

    it("leaves a count of which another lane grew while it was saved", async () => {
      const counts = mongoSlotCounts(database.db);
      await countOnce(database.db)(added, "aa", 1);
      const seen = await unsaved();
      await countOnce(database.db)(added.slice(1), "bb", 1);
      await counts.saved(seen);
      expect(await counted()).to.deep.equal([["web", 4]]);
      await counts.saved(await unsaved());
      expect(await counted()).to.deep.equal([]);
      await countOnce(database.db)(added.slice(1), "aa", 2);
      expect(await counted()).to.deep.equal([["web", 6]]);
    });
  });
});
