import { expect } from "chai";
import fc from "fast-check";
import type { History, HistoryMessage } from "../../src/entities/history.js";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { historyCollections } from "../../src/stores/mongodb/history-documents.js";
import type { SettlementStep } from "../../src/stores/mongodb/settlements.js";
import { mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;
const MESSAGES = 12;
const ENTITIES = 4;
const steps: readonly SettlementStep[] = ["kept", "marked", "archived", "counted", "removed"];

/** What a process does; `of`: a bit for each message. */
type Deed =
  | { readonly what: "append" | "settle" | "settle and stay" | "drop"; readonly of: number }
  | { readonly what: "die" | "sleep"; readonly of: number; readonly at: SettlementStep }
  | { readonly what: "finish and die" | "finish and sleep"; readonly at: SettlementStep }
  | { readonly what: "erase"; readonly entity: number }
  | { readonly what: "finish" | "wake" };

const of = fc.integer({ min: 1, max: 2 ** MESSAGES - 1 });
const at = fc.constantFrom(...steps);
const deeds: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom("append", "settle", "settle and stay"), of }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("drop"), of: fc.nat({ max: 2 }).map((bit) => 1 << bit) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom("die", "sleep"), of, at }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("finish and die", "finish and sleep"), at }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("erase"), entity: fc.nat({ max: ENTITIES - 1 }) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom("finish", "wake") }) },
) as fc.Arbitrary<Deed>;

onServers(["mongodb"], "mongodb: a history of processes that die and sleep", () => {
  it("counts every message once that was ever settled, and no other", async function () {
    this.timeout(120_000);
    await fc.assert(
      fc.asyncProperty(fc.array(deeds, { minLength: 10, maxLength: 40 }), async (course) => {
        const world = await openWorld();
        try {
          await world.history.append(world.messages);
          for (const deed of course) await world.run(deed);
          await world.wakeAll();
          await world.history.pending(EVER, 99);
          expect(await world.counted()).to.equal((await world.settled()).size);
          expect(await world.left("settlements")).to.equal(0);
        } finally {
          await world.close();
        }
      }),
      { numRuns: 40 },
    );
  });
});

async function openWorld() {
  const { db, close } = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
  const history = mongoHistory(db, HOUR);
  const process = mongoHistory(db, HOUR);
  const messages = Array.from({ length: MESSAGES }, (_, index): HistoryMessage => {
    const id = index.toString(16).padStart(32, "0");
    const own = { id, table: "user", stream: "web", entity: `e${index % ENTITIES}`, hashes: [] };
    return { ...own, time: HOUR * (1 + (index % 2)), arrival: index, position: 0, sealed: Uint8Array.of(1) };
  });
  const everSettled = new Set<string>();
  const erased = new Set<string>();
  const sleepers: (() => Promise<unknown>)[] = [];

  /** Looks without any help to those that are half settled. */
  async function settled(): Promise<Set<string>> {
    for (const { _id } of await db.collection("messages").find({}).toArray()) everSettled.add(String(_id));
    const taken = await db
      .collection("pending_messages")
      .find({ batch: { $ne: null } })
      .toArray();
    for (const { _id } of taken) everSettled.add(String(_id));
    return everSettled;
  }

  async function dieAt(step: SettlementStep, work: (dying: History) => Promise<unknown>): Promise<void> {
    const dying = mongoHistory(db, HOUR, (reached) => {
      if (reached === step) throw new Error("The process is dead");
    });
    await work(dying).catch(() => {});
  }

  /** Resolves when the process sleeps, or has nothing to do that leads there. */
  async function sleepAt(step: SettlementStep, work: (sleeper: History) => Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => {
      let wake = () => {};
      const woken = new Promise<void>((awake) => {
        wake = awake;
      });
      const done = work(
        mongoHistory(db, HOUR, (reached) => {
          if (reached !== step) return;
          resolve();
          return woken;
        }),
      );
      sleepers.push(() => {
        wake();
        return done;
      });
      void done.then(() => resolve());
    });
  }

  const pick = (bits: number) => messages.filter((_, index) => (bits & (1 << index)) !== 0);
  const idsOf = (bits: number) => pick(bits).map(({ id }) => id);

  async function run(deed: Deed): Promise<void> {
    switch (deed.what) {
      case "append":
        // A message that was settled and erased would begin a second life.
        await settled();
        return history.append(pick(deed.of).filter(({ id }) => !erased.has(id) || !everSettled.has(id)));
      case "settle":
        return mongoHistory(db, HOUR).settle(idsOf(deed.of));
      case "settle and stay":
        return process.settle(idsOf(deed.of));
      case "drop":
        return history.drop(idsOf(deed.of));
      case "die":
        return dieAt(deed.at, (dying) => dying.settle(idsOf(deed.of)));
      case "sleep":
        return sleepAt(deed.at, (sleeper) => sleeper.settle(idsOf(deed.of)));
      case "finish and die":
        return dieAt(deed.at, (dying) => dying.pending(EVER, 1));
      case "finish and sleep":
        return sleepAt(deed.at, (sleeper) => sleeper.pending(EVER, 1));
      case "erase":
        await settled();
        for (const { id, entity } of messages) if (entity === `e${deed.entity}`) erased.add(id);
        return history.erase([`e${deed.entity}`]);
      case "finish":
        await history.pending(EVER, 1);
        return;
      case "wake":
        await sleepers.shift()?.();
    }
  }

  return {
    history,
    messages,
    run,
    settled,
    wakeAll: () => Promise.all(sleepers.splice(0).map((wake) => wake())),
    left: (name: string) => db.collection(name).countDocuments({}),
    async counted() {
      const counts = await mongoSlotCounts(db).unsaved(EVER, 99);
      return counts.reduce((sum, { count }) => sum + count, 0);
    },
    close,
  };
}
