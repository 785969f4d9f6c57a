import { expect } from "chai";
import type { History, HistoryMessage } from "../../src/entities/history.js";
import type { SlotCounts } from "../../src/metrics/slot-counts.js";

export interface OpenHistory {
  readonly history: History;
  readonly counts: SlotCounts;
  close(): Promise<void>;
}

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;

/** What every engine promises of the archive and of the counts that settle with it. `open` hands out an empty one. */
export function historyContract(name: string, open: () => Promise<OpenHistory>) {
  describe(`${name}: history`, () => {
    let opened: OpenHistory;
    let history: History;

    beforeEach(async () => {
      opened = await open();
      history = opened.history;
    });
    afterEach(() => opened.close());

    let serial = 0;
    function message(more: Partial<HistoryMessage> = {}): HistoryMessage {
      serial += 1;
      const id = serial.toString(16).padStart(32, "0");
      const own = { id, table: "user", stream: "web", entity: `e${id.slice(1)}`, hashes: [`h${id}`] };
      return { ...own, time: HOUR + 1, arrival: 10.5, position: serial, sealed: Uint8Array.of(1, 2), ...more };
    }

    const pendingIds = async (before = EVER) => (await history.pending(before, 99)).map(({ id }) => id);
    const counted = async () => opened.counts.unsaved(EVER, 99);

    it("keeps what was appended as pending, whole", async () => {
      const kept = message({ hashes: ["h1", "h2"] });
      await history.append([kept]);
      expect(await history.pending(EVER, 9)).to.deep.equal([kept]);
      expect(await history.find([kept.id, "unknown"])).to.deep.equal(
        new Map([[kept.id, { entity: kept.entity, settled: false }]]),
      );
      expect(await counted()).to.deep.equal([]);
    });

    it("hands out pending messages by arrival, oldest first, as many as asked", async () => {
      const [late, early, next] = [message({ arrival: 30 }), message({ arrival: 10.25 }), message({ arrival: 20 })];
      await history.append([late, early, next]);
      expect(await pendingIds()).to.deep.equal([early.id, next.id, late.id]);
      expect(await pendingIds(20)).to.deep.equal([early.id]);
      expect((await history.pending(EVER, 2)).map(({ id }) => id)).to.deep.equal([early.id, next.id]);
    });

    it("replaces a pending message of the same id, and leaves a settled one", async () => {
      const first = message({ hashes: ["h1", "h2"] });
      const second = { ...first, entity: message().entity, hashes: ["h2"], sealed: Uint8Array.of(9) };
      await history.append([first]);
      await history.append([second]);
      expect(await history.pending(EVER, 9)).to.deep.equal([second]);
      expect(await history.pendingFor(["h1"], [first.entity])).to.deep.equal([]);
      await history.settle([first.id]);
      await history.append([first]);
      expect(await pendingIds()).to.deep.equal([]);
      expect(await history.holds([first.entity])).to.equal(false);
    });

    it("finds pending messages by identity and by entity", async () => {
      const [a, b, c] = [message({ hashes: ["h1", "h2"] }), message({ hashes: ["h2"] }), message()];
      await history.append([a, b, c]);
      expect(await history.pendingFor(["h1", "h2"], [])).to.deep.equal([a, b]);
      expect(await history.pendingFor(["h1"], [c.entity])).to.deep.equal([a, c]);
      await history.settle([a.id]);
      expect(await history.pendingFor(["h1"], [a.entity])).to.deep.equal([]);
    });

    it("counts a message once, for the slot of its event time, however often it is settled", async () => {
      const messages = [
        message(),
        message({ time: 2 * HOUR - 1 }),
        message({ time: 2 * HOUR }),
        message({ stream: "app" }),
      ];
      const ids = messages.map(({ id }) => id);
      await history.append(messages);
      await history.settle(ids.slice(0, 1));
      for (let times = 0; times < 2; times += 1) await history.settle([...ids, ...ids]);
      await history.settle([message().id]);
      expect(await history.find(ids)).to.deep.equal(
        new Map(messages.map(({ id, entity }) => [id, { entity, settled: true }])),
      );
      expect(await counted()).to.deep.equal([
        { stream: "app", slot: HOUR, count: 1 },
        { stream: "web", slot: HOUR, count: 2 },
        { stream: "web", slot: 2 * HOUR, count: 1 },
      ]);
    });

    it("lists messages no more that are set aside, and treats them as pending otherwise", async () => {
      const [aside, stays] = [message({ hashes: ["h1"] }), message()];
      await history.append([aside, stays]);
      for (let times = 0; times < 2; times += 1) await history.setAside([aside.id, message().id]);
      expect(await pendingIds()).to.deep.equal([stays.id]);
      expect(await history.countAside()).to.equal(1);
      expect(await history.pendingFor(["h1"], [])).to.deep.equal([aside]);
      expect(await history.find([aside.id])).to.deep.equal(
        new Map([[aside.id, { entity: aside.entity, settled: false }]]),
      );
      expect(await history.holds([aside.entity])).to.equal(true);
    });

    for (const [what, end] of [
      ["dropped", (aside: HistoryMessage) => history.drop([aside.id])],
      ["erased", (aside: HistoryMessage) => history.erase([aside.entity])],
      ["older than the retention", (aside: HistoryMessage) => history.expire(aside.arrival + 1)],
    ] as const) {
      it(`removes a message that is set aside when it is ${what}`, async () => {
        const aside = message({ hashes: ["h1"] });
        await history.append([aside]);
        await history.setAside([aside.id]);
        await end(aside);
        expect(await history.countAside()).to.equal(0);
        expect(await history.holds([aside.entity])).to.equal(false);
        expect(await history.pendingFor(["h1"], [])).to.deep.equal([]);
        expect(await counted()).to.deep.equal([]);
      });
    }

    it("settles and counts a message that was set aside, also when it was appended again before", async () => {
      const [first, second] = [message(), message()];
      await history.append([first, second]);
      await history.setAside([first.id, second.id]);
      await history.append([second]);
      expect(await pendingIds()).to.deep.equal([second.id]);
      await history.settle([first.id, second.id]);
      expect(await history.countAside()).to.equal(0);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 2 }]);
    });

    it("drops pending messages uncounted, and no settled one", async () => {
      const [gone, stays] = [message(), message()];
      await history.append([gone, stays]);
      await history.settle([stays.id]);
      for (let times = 0; times < 2; times += 1) await history.drop([gone.id, stays.id]);
      await history.settle([gone.id]);
      expect(await pendingIds()).to.deep.equal([]);
      expect(await history.holds([gone.entity])).to.equal(false);
      expect(await history.holds([stays.entity])).to.equal(true);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 1 }]);
    });

    it("erases every message of an entity, and no count", async () => {
      const entity = "e".repeat(32);
      const [settled, pending, other] = [message({ entity }), message({ entity, hashes: ["h1"] }), message()];
      await history.append([settled, pending, other]);
      await history.settle([settled.id]);
      for (let times = 0; times < 2; times += 1) await history.erase([entity]);
      expect(await history.holds([entity])).to.equal(false);
      expect(await history.holds([entity, other.entity])).to.equal(true);
      expect(await history.pendingFor(["h1"], [entity])).to.deep.equal([]);
      expect(await pendingIds()).to.deep.equal([other.id]);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 1 }]);
    });

    it("forgets settled messages that arrived before the retention", async () => {
      const [old, pending, young] = [message({ arrival: 5 }), message({ arrival: 5 }), message({ arrival: 10 })];
      await history.append([old, pending, young]);
      await history.settle([old.id, young.id]);
      await history.expire(10);
      expect(await history.holds([old.entity])).to.equal(false);
      expect(await history.holds([young.entity])).to.equal(true);
      expect(await pendingIds()).to.deep.equal([pending.id]);
    });
  });
}
