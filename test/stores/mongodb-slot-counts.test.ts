import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { historyCollections } from "../../src/stores/mongodb/history-documents.js";
import { mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
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

  describe("of several processes", () => {
    let database: TestDatabase;

    beforeEach(async () => {
      database = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
    });
    afterEach(() => database.close());

    /** Collects one message, as a process does that has not counted before. */
    async function count(stream: string, history = mongoHistory(database.db, HOUR)): Promise<void> {
      const id = randomBytes(16).toString("hex");
      const stamp = { time: HOUR, arrival: 1, position: 0 };
      await history.append([{ id, table: "user", stream, entity: id, hashes: [], ...stamp, sealed: Uint8Array.of(1) }]);
      await history.settle([id]);
    }

    const unsaved = () => mongoSlotCounts(database.db).unsaved(EVER, 99);

    it("keep no document for each start", async () => {
      const documents = () => database.db.collection("stream_counts").countDocuments({});
      for (let starts = 0; starts < 6; starts += 1) await count("web");
      const before = await documents();
      for (let starts = 0; starts < 20; starts += 1) await count("web");
      expect(await documents()).to.equal(before);
      expect(await unsaved()).to.deep.equal([{ stream: "web", slot: HOUR, count: 26 }]);
    });

    it("are exact when many count at once, each several messages", async () => {
      const processes = Array.from({ length: 5 }, () => mongoHistory(database.db, HOUR));
      await Promise.all(processes.flatMap((history) => ["app", "web", "web"].map((stream) => count(stream, history))));
      expect(await unsaved()).to.deep.equal([
        { stream: "app", slot: HOUR, count: 5 },
        { stream: "web", slot: HOUR, count: 10 },
      ]);
    });

    it("keep what another process adds while a count is saved", async () => {
      const counts = mongoSlotCounts(database.db);
      await count("web");
      const seen = await unsaved();
      await count("web");
      await counts.saved(seen);
      expect(await unsaved()).to.deep.equal([{ stream: "web", slot: HOUR, count: 2 }]);
      await counts.saved(await unsaved());
      expect(await unsaved()).to.deep.equal([]);
    });
  });
});
