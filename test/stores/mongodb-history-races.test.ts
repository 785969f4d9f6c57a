import { expect } from "chai";
import type { History, HistoryMessage } from "../../src/entities/history.js";
import { mongoHistory } from "../../src/stores/mongodb/history.js";
import { historyCollections } from "../../src/stores/mongodb/history-documents.js";
import type { HistoryStep } from "../../src/stores/mongodb/settlements.js";
import { mongoSlotCounts, slotCountsCollections } from "../../src/stores/mongodb/slot-counts.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;
const steps: readonly HistoryStep[] = ["taken", "archived", "counted", "removed"];

onServers(["mongodb"], "mongodb: settlements that are interrupted", () => {
  let database: TestDatabase;
  let history: History;

  beforeEach(async () => {
    database = await openTestDatabase([...historyCollections, ...slotCountsCollections]);
    history = mongoHistory(database.db, HOUR);
  });
  afterEach(() => database.close());

  let serial = 0;
  function message(more: Partial<HistoryMessage> = {}): HistoryMessage {
    serial += 1;
    const id = serial.toString(16).padStart(32, "0");
    const own = { id, table: "user", stream: "web", entity: `e${id.slice(1)}`, hashes: [`h${id}`] };
    return { ...own, time: HOUR, arrival: serial, position: 0, sealed: Uint8Array.of(1), ...more };
  }
  const batch = () => [message(), message({ time: 2 * HOUR }), message({ stream: "app" }), message()];
  const idsOf = (messages: readonly HistoryMessage[]) => messages.map(({ id }) => id);

  /** A process that dies at a step. */
  const dying = (at: HistoryStep) =>
    mongoHistory(database.db, HOUR, (step) => {
      if (step === at) throw new Error("The process is dead");
    });

  /** A process that sleeps at a step, the first time that it comes there, until it is woken. */
  function sleeping(at: HistoryStep) {
    let wake = () => {};
    let fallAsleep = () => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const asleep = new Promise<void>((resolve) => {
      fallAsleep = resolve;
    });
    const sleeper = mongoHistory(database.db, HOUR, (step) => {
      if (step !== at) return;
      fallAsleep();
      return woken;
    });
    return { sleeper, asleep, wake };
  }

  const counted = async () =>
    (await mongoSlotCounts(database.db).unsaved(EVER, 99)).map(
      ({ stream, slot, count }) => `${stream} ${slot / HOUR}: ${count}`,
    );

  const onceEach = ["app 1: 1", "web 1: 2", "web 2: 1"];
  const twiceEach = ["app 1: 2", "web 1: 4", "web 2: 2"];

  /** All of them are settled, and nothing of their settling is left. */
  async function expectSettled(messages: readonly HistoryMessage[], counts: readonly string[]): Promise<void> {
    expect(await counted()).to.deep.equal(counts);
    expect(await history.pending(EVER, 9)).to.deep.equal([]);
    for (const name of ["pending_messages", "appends"]) {
      expect(await database.db.collection(name).countDocuments({}), name).to.equal(0);
    }
    const found = await history.find(idsOf(messages));
    expect(messages.filter(({ id }) => found.get(id)?.settled !== true)).to.deep.equal([]);
    expect(await database.db.collection("messages").countDocuments({})).to.equal(messages.length);
  }

  for (const step of steps) {
    describe(`after "${step}"`, () => {
      it("are finished by whoever looks for what was left behind", async () => {
        const messages = batch();
        await history.append(messages);
        await dying(step)
          .settle(idsOf(messages))
          .catch(() => {});
        await history.pending(0, 9);
        expect(await database.db.collection("appends").countDocuments({})).to.equal(1);
        await history.pending(EVER, 9);
        await expectSettled(messages, onceEach);
      });

      it("are finished although all who finish them die in turn", async () => {
        const messages = batch();
        await history.append(messages);
        await dying(step)
          .settle(idsOf(messages))
          .catch(() => {});
        for (const at of steps) {
          await dying(at)
            .pending(EVER, 9)
            .catch(() => {});
        }
        await history.pending(EVER, 9);
        await expectSettled(messages, onceEach);
      });

      it("are finished by the one who settles or finds the same messages again", async () => {
        const again: Record<string, (ids: string[]) => Promise<unknown>> = {
          settle: (ids) => history.settle(ids),
          async find(ids) {
            const found = await history.find(ids);
            await history.settle(ids.filter((id) => found.get(id)?.settled !== true));
          },
        };
        const all: HistoryMessage[] = [];
        for (const repeat of Object.values(again)) {
          const messages = batch();
          await history.append(messages);
          await dying(step)
            .settle(idsOf(messages))
            .catch(() => {});
          await repeat(idsOf(messages));
          all.push(...messages);
        }
        expect(await counted()).to.deep.equal(twiceEach);
        await history.pending(EVER, 9);
        await expectSettled(all, twiceEach);
      });

      it("are counted once when their process wakes up after another has finished them", async () => {
        const messages = batch();
        await history.append(messages);
        const { sleeper, asleep, wake } = sleeping(step);
        const settled = sleeper.settle(idsOf(messages));
        await asleep;
        await history.pending(EVER, 9);
        await expectSettled(messages, onceEach);
        wake();
        await settled;
        await expectSettled(messages, onceEach);
      });

      it("are counted once when one who finishes them wakes up after their process has gone on", async () => {
        const messages = batch();
        const later = batch();
        await history.append(messages);
        await history.append(later);
        const { sleeper, asleep, wake } = sleeping("taken");
        const settled = sleeper.settle(idsOf(messages));
        await asleep;
        const helper = sleeping(step);
        const helped = helper.sleeper.pending(EVER, 9);
        await helper.asleep;
        wake();
        await settled;
        await sleeper.settle(idsOf(later));
        expect(await counted()).to.deep.equal(twiceEach);
        helper.wake();
        await helped;
        await expectSettled([...messages, ...later], twiceEach);
      });

      it("are counted when their messages are erased before they are", async () => {
        const entity = "e".repeat(32);
        const messages = batch().map((kept) => ({ ...kept, entity }));
        const other = message();
        await history.append([...messages, other]);
        await dying(step)
          .settle(idsOf(messages))
          .catch(() => {});
        await history.erase([entity]);
        expect(await history.holds([entity])).to.equal(false);
        await history.pending(EVER, 9);
        expect(await history.holds([entity])).to.equal(false);
        expect(await history.holds([other.entity])).to.equal(true);
        expect(await counted()).to.deep.equal(onceEach);
      });

      it("are counted once when their process wakes up after an erasure", async () => {
        const entity = "e".repeat(32);
        const messages = batch().map((kept) => ({ ...kept, entity }));
        await history.append(messages);
        const { sleeper, asleep, wake } = sleeping(step);
        const settled = sleeper.settle(idsOf(messages));
        await asleep;
        await history.erase([entity]);
        wake();
        await settled;
        await history.erase([entity]);
        await history.pending(EVER, 9);
        expect(await history.holds([entity])).to.equal(false);
        expect(await counted()).to.deep.equal(onceEach);
      });

      it("are counted when their messages are too old before they are", async () => {
        const messages = batch();
        await history.append(messages);
        await dying(step)
          .settle(idsOf(messages))
          .catch(() => {});
        await history.expire(EVER);
        await history.pending(EVER, 9);
        expect(await counted()).to.deep.equal(onceEach);
      });

      it("settle a message although it is appended again for another entity, or dropped, before it is counted", async () => {
        const [moved, gone, stays] = [message(), message(), message()];
        await history.append([moved, gone, stays]);
        const { sleeper, asleep, wake } = sleeping(step);
        const settled = sleeper.settle(idsOf([moved, gone, stays]));
        await asleep;
        await history.append([{ ...moved, entity: "f".repeat(32) }]);
        await history.drop([gone.id]);
        wake();
        await settled;
        await expectSettled([moved, gone, stays], ["web 1: 3"]);
        expect((await history.find([moved.id])).get(moved.id)?.entity).to.equal(moved.entity);
      });

      it("show nobody as pending what they have taken", async () => {
        const kept = message();
        await history.append([kept]);
        await dying(step)
          .settle([kept.id])
          .catch(() => {});
        expect(await history.pendingFor(kept.hashes, [])).to.deep.equal([]);
        expect(await history.pending(kept.arrival, 9)).to.deep.equal([]);
        expect((await history.find([kept.id])).get(kept.id)?.settled).to.equal(true);
        expect(await history.holds([kept.entity])).to.equal(true);
      });
    });
  }

  describe("of parts of what was appended", () => {
    it("leave the others pending, for settlements of their own", async () => {
      const messages = batch();
      await history.append(messages);
      const [first, ...others] = idsOf(messages);
      for (const ids of [[first as string], others.slice(0, 1), others]) await history.settle(ids);
      await expectSettled(messages, onceEach);
    });

    for (const step of steps) {
      it(`are finished, and no others with them, after "${step}"`, async () => {
        const messages = batch();
        const [taken, left] = [messages.slice(0, 2), messages.slice(2)];
        await history.append(messages);
        await dying(step)
          .settle(idsOf(taken))
          .catch(() => {});
        expect(
          await history.pendingFor(
            left.flatMap(({ hashes }) => hashes),
            [],
          ),
        ).to.deep.equal(left);
        await history.settle(idsOf(left));
        await expectSettled(messages, onceEach);
      });
    }

    for (const [who, remembers] of [
      ["remembers them", true],
      ["has read them", false],
    ] as const) {
      it(`are not settled again, after their erasure, by one who ${who} and was asleep`, async () => {
        const { sleeper, asleep, wake } = sleeping("taken");
        const [first, second, third] = [message(), message(), message()];
        const writer = remembers ? sleeper : history;
        await writer.append([first]);
        await writer.append([second, third]);
        const settled = sleeper.settle(idsOf([first, second, third]));
        await asleep;
        await history.settle([second.id]);
        await history.erase([second.entity]);
        wake();
        await settled;
        expect(await history.holds([second.entity])).to.equal(false);
        expect(await counted()).to.deep.equal(["web 1: 3"]);
      });
    }
  });

  describe("by those who remove and replace", () => {
    const moved = (kept: HistoryMessage) => ({ ...kept, entity: "f".repeat(32) });
    const removals: Record<string, (of: History, kept: HistoryMessage) => Promise<void>> = {
      "drops it": (of, kept) => of.drop([kept.id]),
      "erases it": (of, kept) => of.erase([kept.entity]),
      "replaces it": (of, kept) => of.append([moved(kept)]),
    };

    for (const [what, remove] of Object.entries(removals)) {
      it(`keep a message as pending when one dies who ${what}`, async () => {
        const [kept, other] = [message(), message()];
        await history.append([kept, other]);
        await remove(dying("detached"), kept).catch(() => {});
        expect(await history.pending(EVER, 9)).to.deep.equal([kept, other]);
        await history.settle(idsOf([kept, other]));
        await expectSettled([kept, other], ["web 1: 2"]);
      });

      it(`count a message once that is settled while one sleeps who ${what}`, async () => {
        const [kept, other] = [message(), message()];
        await history.append([kept, other]);
        const { sleeper, asleep, wake } = sleeping("detached");
        const removed = remove(sleeper, kept);
        await asleep;
        await history.settle(idsOf([kept, other]));
        wake();
        await removed;
        await history.pending(EVER, 9);
        await history.settle(idsOf([kept, other]));
        expect(await counted()).to.deep.equal(["web 1: 2"]);
        expect(await history.pending(EVER, 9)).to.deep.equal([]);
        expect(await history.holds([kept.entity])).to.equal(what !== "erases it");
        expect(await history.holds([moved(kept).entity])).to.equal(false);
      });

      it(`do not count a message again that one who was asleep settles after another ${what}`, async () => {
        const writer = sleeping("begun");
        const [kept, other] = [message(), message()];
        const appended = writer.sleeper.append([kept, other]);
        await writer.asleep;
        writer.wake();
        await appended;
        await remove(history, kept);
        await writer.sleeper.settle(idsOf([kept, other]));
        expect((await history.find([kept.id])).get(kept.id)?.settled).to.equal(
          what === "replaces it" ? false : undefined,
        );
        expect(await counted()).to.deep.equal(["web 1: 1"]);
      });
    }

    it("go when nothing was kept with them", async () => {
      const kept = message();
      await dying("begun")
        .append([kept])
        .catch(() => {});
      expect(await history.pending(EVER, 9)).to.deep.equal([]);
      expect(await database.db.collection("appends").countDocuments({})).to.equal(0);
    });

    it("settle what lost its append", async () => {
      const writer = sleeping("begun");
      const kept = message();
      const appended = writer.sleeper.append([kept]);
      await writer.asleep;
      await history.pending(EVER, 9);
      writer.wake();
      await appended;
      expect(await history.pending(EVER, 9)).to.deep.equal([kept]);
      await writer.sleeper.settle([kept.id]);
      await expectSettled([kept], ["web 1: 1"]);
    });
  });

  describe("by each other", () => {
    it("count each message once when several settle the same ones at once", async () => {
      const messages = Array.from({ length: 60 }, () => message());
      await history.append(messages);
      const processes = Array.from({ length: 4 }, () => mongoHistory(database.db, HOUR));
      await Promise.all(
        processes.flatMap((process, at) => [
          process.settle(idsOf(messages.slice(at * 10, at * 10 + 30))),
          process.settle(idsOf([...messages].reverse())),
        ]),
      );
      await expectSettled(messages, ["web 1: 60"]);
    });

    it("count every message of many batches that several settle into the same slot", async () => {
      const processes = Array.from({ length: 3 }, () => mongoHistory(database.db, HOUR));
      const messages: HistoryMessage[] = [];
      await Promise.all(
        processes.map((process) =>
          Promise.all(
            Array.from({ length: 8 }, async (_, size) => {
              const own = Array.from({ length: size + 1 }, () => message());
              messages.push(...own);
              await process.append(own);
              await process.settle(idsOf(own));
            }),
          ),
        ),
      );
      await expectSettled(messages, ["web 1: 108"]);
    });

    it("count once what was appended again and is too old before it is settled again", async () => {
      const kept = message();
      await history.append([kept]);
      await history.settle([kept.id]);
      await history.append([kept]);
      await dying("taken")
        .settle([kept.id])
        .catch(() => {});
      await history.expire(EVER);
      await history.pending(EVER, 9);
      expect(await counted()).to.deep.equal(["web 1: 1"]);
      expect(await history.holds([kept.entity])).to.equal(false);
    });

    it("go on in a lane of their own after something failed", async () => {
      let fails = true;
      const failing = mongoHistory(database.db, HOUR, (step) => {
        if (fails && step === "archived") throw new Error("The server is away");
      });
      const [first, second] = [message(), message()];
      await failing.append([first]);
      await failing.append([second]);
      await failing.settle([first.id]).catch(() => {});
      fails = false;
      await failing.settle([second.id]);
      expect(await counted()).to.deep.equal(["web 1: 1"]);
      await history.pending(EVER, 9);
      await expectSettled([first, second], ["web 1: 2"]);
    });
  });
});
