import { expect } from "chai";
import fc from "fast-check";
import type { History, HistoryMessage } from "../../src/entities/history.js";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { hasTaken } from "../../src/stores/mongodb/history-appends.js";
import { type AppendDocument, historyCollections } from "../../src/stores/mongodb/history-documents.js";
import type { HistoryStep } from "../../src/stores/mongodb/settlements.js";
import { mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;
const MESSAGES = 12;
const ENTITIES = 4;
const steps: readonly HistoryStep[] = ["begun", "detached", "taken", "archived", "counted", "removed"];

type Troubled = `${"settle" | "append" | "drop"} and ${"die" | "sleep"}`;

/** What a process does; `of`: a bit for each message. */
type Deed =
  | { readonly what: "append" | "settle" | "settle and stay" | "drop"; readonly of: number }
  | { readonly what: Troubled; readonly of: number; readonly at: HistoryStep }
  | { readonly what: "finish and die" | "finish and sleep"; readonly at: HistoryStep }
  | { readonly what: "erase"; readonly entity: number }
  | { readonly what: "finish" | "wake" };

const of = fc.integer({ min: 1, max: 2 ** MESSAGES - 1 });
const at = fc.constantFrom(...steps.slice(2));
const early = fc.constantFrom(...steps.slice(0, 2));
const deeds: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom("append", "settle", "settle and stay"), of }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("drop"), of: fc.nat({ max: 2 }).map((bit) => 1 << bit) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom("settle and die", "settle and sleep"), of, at }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("append and die", "append and sleep"), of, at: early }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom("drop and die", "drop and sleep"), of, at: early }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("finish and die", "finish and sleep"), at }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("erase"), entity: fc.nat({ max: ENTITIES - 1 }) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom("finish", "wake") }) },
) as fc.Arbitrary<Deed>;

/** One sleeps who took what another had settled before; an erasure makes the archive forget it meanwhile. */
const appendedAgainAndErased: Deed[] = [
  { what: "settle and die", of: 1 << 11, at: "taken" },
  { what: "append", of: (1 << 11) + (1 << 9) },
  { what: "settle and sleep", of: 1 << 11, at: "taken" },
  { what: "erase", entity: 3 },
];

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
          expect(await world.taken()).to.equal(0);
        } finally {
          await world.close();
        }
      }),
      { numRuns: 12, examples: [[appendedAgainAndErased]] },
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
  /** `appends`: what comes in when it wakes up. */
  const sleepers: { readonly appends: readonly HistoryMessage[]; wake(): Promise<unknown> }[] = [];

  /** Looks without any help to those that are half settled. */
  async function settled(): Promise<Set<string>> {
    for (const { _id } of await db.collection("messages").find({}).toArray()) everSettled.add(String(_id));
    const taken = await db
      .collection<AppendDocument>("appends")
      .find({ lane: { $ne: null } })
      .toArray();
    for (const append of taken) {
      const own = await db.collection("pending_messages").find({ append: append._id }).toArray();
      for (const { _id } of own) if (hasTaken(append, String(_id))) everSettled.add(String(_id));
    }
    return everSettled;
  }

  async function dieAt(step: HistoryStep, work: (dying: History) => Promise<unknown>): Promise<void> {
    const dying = mongoHistory(db, HOUR, (reached) => {
      if (reached === step) throw new Error("The process is dead");
    });
    await work(dying).catch(() => {});
  }

  /** Resolves when the process sleeps, or has nothing to do that leads there. */
  async function sleepAt(
    step: HistoryStep,
    work: (sleeper: History) => Promise<unknown>,
    appends: readonly HistoryMessage[] = [],
  ): Promise<void> {
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
      sleepers.push({
        appends,
        wake() {
          wake();
          return done;
        },
      });
      void done.then(() => resolve());
    });
  }

  const pick = (bits: number) => messages.filter((_, index) => (bits & (1 << index)) !== 0);
  const idsOf = (bits: number) => pick(bits).map(({ id }) => id);

  /** Those that may be appended: one that was settled and erased would begin a second life. */
  async function firstLives(bits: number): Promise<HistoryMessage[]> {
    await settled();
    return pick(bits).filter(({ id }) => !erased.has(id) || !everSettled.has(id));
  }

  async function run(deed: Deed): Promise<void> {
    switch (deed.what) {
      case "append":
        return process.append(await firstLives(deed.of));
      case "settle":
        return mongoHistory(db, HOUR).settle(idsOf(deed.of));
      case "settle and stay":
        return process.settle(idsOf(deed.of));
      case "drop":
        return history.drop(idsOf(deed.of));
      case "settle and die":
        return dieAt(deed.at, (dying) => dying.settle(idsOf(deed.of)));
      case "settle and sleep":
        return sleepAt(deed.at, (sleeper) => sleeper.settle(idsOf(deed.of)));
      case "append and die": {
        const once = await firstLives(deed.of);
        return dieAt(deed.at, (dying) => dying.append(once));
      }
      case "append and sleep": {
        const once = await firstLives(deed.of);
        return sleepAt(deed.at, (sleeper) => sleeper.append(once), once);
      }
      case "drop and die":
        return dieAt(deed.at, (dying) => dying.drop(idsOf(deed.of)));
      case "drop and sleep":
        return sleepAt(deed.at, (sleeper) => sleeper.drop(idsOf(deed.of)));
      case "finish and die":
        return dieAt(deed.at, (dying) => dying.pending(EVER, 1));
      case "finish and sleep":
        return sleepAt(deed.at, (sleeper) => sleeper.pending(EVER, 1));
      case "erase": {
        const gone = `e${deed.entity}`;
        if (sleepers.some(({ appends }) => appends.some(({ entity }) => entity === gone))) return;
        await settled();
        for (const { id, entity } of messages) if (entity === gone) erased.add(id);
        return history.erase([gone]);
      }
      case "finish":
        await history.pending(EVER, 1);
        return;
      case "wake":
        await sleepers.shift()?.wake();
    }
  }

  return {
    history,
    messages,
    run,
    settled,
    wakeAll: () => Promise.all(sleepers.splice(0).map((sleeper) => sleeper.wake())),
    taken: () => db.collection("appends").countDocuments({ lane: { $ne: null } }),
    async counted() {
      const counts = await mongoSlotCounts(db).unsaved(EVER, 99);
      return counts.reduce((sum, { count }) => sum + count, 0);
    },
    close,
  };
}
