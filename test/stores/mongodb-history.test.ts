import { expect } from "chai";
import type { History, HistoryMessage } from "../../src/entities/history.js";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { historyCollections } from "../../src/stores/mongodb/history-documents.js";
import { mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
import { historyContract } from "../contracts/history.contract.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;

onServers(["mongodb"], "mongodb: history", () => {
  historyContract("mongodb", async () => {
    const { db, close } = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
    return { history: mongoHistory(db, HOUR), counts: mongoSlotCounts(db), close };
  });

  describe("of several processes", () => {
    let database: TestDatabase;
    let history: History;

    beforeEach(async () => {
      database = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
      history = mongoHistory(database.db, HOUR);
    });
    afterEach(() => database.close());

    const kept: HistoryMessage = {
      id: "a".repeat(32),
      table: "user",
      stream: "web",
      entity: "e".repeat(32),
      hashes: ["h1"],
      time: HOUR + 1 / 1024,
      arrival: 1_700_000_000_000 + 3 / 1024,
      position: 0,
      sealed: Uint8Array.of(0, 255),
    };
    const moved = { ...kept, entity: "f".repeat(32) };
    const counted = () => mongoSlotCounts(database.db).unsaved(EVER, 9);

    it("keeps times to the last bit", async () => {
      await history.append([kept]);
      expect(await history.pending(EVER, 9)).to.deep.equal([kept]);
      expect(await history.pending(kept.arrival, 9)).to.deep.equal([]);
    });

    const looks: Record<string, (of: History) => Promise<unknown>> = {
      "pending messages are listed": async (of) => expect(await of.pending(EVER, 9)).to.deep.equal([]),
      "its identity is looked for": async (of) => expect(await of.pendingFor(["h1"], [])).to.deep.equal([]),
      "its entity is looked for": async (of) => expect(await of.pendingFor([], [moved.entity])).to.deep.equal([]),
      "its entity is asked for": async (of) => expect(await of.holds([moved.entity])).to.equal(false),
      "it is settled again": (of) => of.settle([kept.id]),
      "it is dropped": (of) => of.drop([kept.id]),
      "its entity is erased": (of) => of.erase([moved.entity]),
    };
    for (const [what, look] of Object.entries(looks)) {
      it(`leaves a settled message settled, and counted once, when it is appended again and ${what}`, async () => {
        await history.append([kept]);
        await history.settle([kept.id]);
        await history.append([moved]);
        expect(await history.find([kept.id])).to.deep.equal(
          new Map([[kept.id, { entity: kept.entity, settled: true }]]),
        );
        await look(history);
        await history.settle([kept.id]);
        expect(await database.db.collection("pending_messages").countDocuments({})).to.equal(0);
        expect(await history.holds([kept.entity])).to.equal(true);
        expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 1 }]);
      });
    }

    it("lists what is pending although all before it are leftovers", async () => {
      const messages = Array.from({ length: 3 }, (_, at) => ({ ...kept, id: `${at}`.repeat(32), position: at }));
      await history.append(messages);
      await history.settle(messages.slice(0, 2).map(({ id }) => id));
      await history.append(messages.slice(0, 2));
      expect(await history.pending(EVER, 2)).to.deep.equal(messages.slice(2));
    });

    it("keeps one of several that append the same message at once, whole", async () => {
      const versions = Array.from({ length: 6 }, (_, at) => ({ ...kept, entity: `${at}`.repeat(32) }));
      const other = { ...kept, id: "b".repeat(32), position: 1 };
      await Promise.all(versions.map((version) => mongoHistory(database.db, HOUR).append([version, other])));
      const [first, second, ...more] = await history.pending(EVER, 9);
      expect(versions).to.deep.include(first);
      expect(second).to.deep.equal(other);
      expect(more).to.deep.equal([]);
    });

    it("settles any number of messages at once, and each of many calls", async () => {
      const messages = Array.from({ length: 1_100 }, (_, at) => ({
        ...kept,
        id: at.toString(16).padStart(32, "0"),
        position: at,
        stream: at < 1_060 ? "web" : "app",
      }));
      await history.append(messages);
      const ids = messages.map(({ id }) => id);
      await Promise.all([history.settle(ids.slice(0, 1_060)), ...ids.slice(1_060).map((id) => history.settle([id]))]);
      expect(await counted()).to.deep.equal([
        { stream: "app", slot: HOUR, count: 40 },
        { stream: "web", slot: HOUR, count: 1_060 },
      ]);
      expect(await database.db.collection("pending_messages").countDocuments({})).to.equal(0);
      expect(await database.db.collection("settlements").countDocuments({})).to.equal(0);
    });
  });
});
