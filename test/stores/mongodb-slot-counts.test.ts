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

  describe("of lanes", () => {
    let database: TestDatabase;

    beforeEach(async () => {
      database = await openTestDatabase(slotCountsCollections);
    });
    afterEach(() => database.close());

    const parts = [
      { stream: "app", slot: HOUR, count: 1 },
      { stream: "web", slot: HOUR, count: 2 },
    ];
    const counted = async () =>
      (await mongoSlotCounts(database.db).unsaved(EVER, 99)).map(({ stream, count }) => [stream, count]);

    it("adds a settlement once, however often and late it is told", async () => {
      const count = countOnce(database.db);
      for (let times = 0; times < 2; times += 1) await count(parts, "aa", 1);
      await count(parts.slice(0, 1), "aa", 2);
      await count(parts, "aa", 1);
      await count(parts, "bb", 1);
      expect(await counted()).to.deep.equal([
        ["app", 3],
        ["web", 4],
      ]);
    });

    it("adds what half of it held already", async () => {
      const count = countOnce(database.db);
      await count(parts.slice(1), "aa", 1);
      await count(parts, "aa", 1);
      expect(await counted()).to.deep.equal([
        ["app", 1],
        ["web", 2],
      ]);
    });

    it("adds for each of many lanes that begin a count at once", async () => {
      const lanes = ["aa", "bb", "cc", "dd", "ee"];
      await Promise.all(
        lanes.flatMap((lane) => [
          countOnce(database.db)(parts, lane, 1),
          countOnce(database.db)([...parts].reverse(), lane, 1),
        ]),
      );
      expect(await counted()).to.deep.equal([
        ["app", 5],
        ["web", 10],
      ]);
    });
  });
});
