import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import type { HistoryMessage } from "../../src/entities/ports.js";
import type { EntityStores } from "../../src/stores/stores.js";
import { changeOf, commitOf, freshEntity, keep, messageFor } from "../support/commits.js";

export interface OpenHistory {
  readonly stores: Pick<EntityStores, "entities" | "history" | "counts">;
  close(): Promise<void>;
}

const HOUR = 3_600_000;
const EVER = Number.MAX_SAFE_INTEGER;

/** Promises of every engine on the archive, and on the counts of its messages. `open` resolves with an empty one. */
export function historyContract(name: string, open: () => Promise<OpenHistory>) {
  describe(`the message history of ${name}`, () => {
    let opened: OpenHistory;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    /** Keeps messages for a profile of their own; resolves with its id and them. */
    async function kept(...more: Partial<HistoryMessage>[]) {
      const entity = freshEntity();
      const messages = more.map((one) => messageFor(entity.id, one));
      await keep(opened.stores.entities, entity, { messages });
      return { id: entity.id, messages, ids: messages.map(({ id }) => id) };
    }

    const counted = async () =>
      (await opened.stores.counts.unsaved(EVER, 99)).map(({ stream, slot, count }) => ({ stream, slot, count }));

    it("returns which of several messages it contains", async () => {
      const { ids } = await kept({}, {});
      expect(await opened.stores.history.storedIds([...ids, "0".repeat(32)])).to.deep.equal(new Set(ids));
      expect(await opened.stores.history.storedIds([])).to.deep.equal(new Set());
    });

    it("never stores a message with a lasting id again, also after it was erased or has expired", async () => {
      const { history, entities } = opened.stores;
      const [erased, expired] = [freshEntity(), freshEntity()];
      const commitAll = (messages: readonly HistoryMessage[]) =>
        entities.commit(commitOf([], { messages, lastingIds: messages.map(({ id }) => id) }));
      const messages = [messageFor(erased.id), messageFor(expired.id, { arrival: 5 })];
      const ids = new Set(messages.map(({ id }) => id));
      expect(await commitAll(messages)).to.equal(true);
      await history.erase([erased.id]);
      await history.expire(10);
      expect(await history.holds([erased.id, expired.id])).to.equal(false);
      expect(await history.storedIds([...ids, "0".repeat(32)])).to.deep.equal(ids);
      for (const message of messages) expect(await commitAll([message, messageFor(erased.id)])).to.equal(false);
      expect(await history.holds([erased.id])).to.equal(false);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 2 }]);
    });

    it("counts the moves of a commit without messages in the slot of its time", async () => {
      const change = changeOf(freshEntity(), [{ add: ["moved"] }]);
      expect(await opened.stores.entities.commit(commitOf([change], { at: 6 * HOUR + 1 }))).to.equal(true);
      expect(await counted()).to.deep.equal([{ stream: "/joined/moved", slot: 7 * HOUR, count: 1 }]);
    });

    it("does not count messages that are marked as uncounted", async () => {
      const messages = [messageFor(freshEntity().id), messageFor(freshEntity().id)];
      const uncounted = new Set(messages.map(({ id }) => id));
      expect(await opened.stores.entities.commit(commitOf([], { messages, uncounted }))).to.equal(true);
      expect(await counted()).to.deep.equal([]);
    });

    it("counts each message for its stream in the slot of its event time", async () => {
      await kept({}, { time: 2 * HOUR - 1 }, { time: 2 * HOUR }, { stream: "app" });
      expect(await counted()).to.deep.equal([
        { stream: "app", slot: HOUR, count: 1 },
        { stream: "web", slot: HOUR, count: 2 },
        { stream: "web", slot: 2 * HOUR, count: 1 },
      ]);
    });

    it("erases any number of messages of an entity without changing counts, while other requests run", async () => {
      const { id } = await kept(...Array.from({ length: 2_500 }, () => ({})));
      const stays = await kept({});
      let isDone = false;
      let turns = 0;
      const erased = opened.stores.history.erase([id]).then(() => (isDone = true));
      for (; !isDone; turns += 1) await setImmediate();
      await erased;
      expect(turns).to.be.at.least(3);
      await opened.stores.history.erase([id]);
      expect(await opened.stores.history.holds([id])).to.equal(false);
      expect(await opened.stores.history.holds([id, stays.id])).to.equal(true);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 2_501 }]);
    });

    it("removes expired messages in several calls without changing counts, and returns whether more may be left", async () => {
      const { history } = opened.stores;
      const old = await kept(...Array.from({ length: 1_500 }, () => ({ arrival: 5 })));
      const young = await kept({ arrival: 10 });
      expect(await history.expire(10)).to.equal(true);
      expect([...(await history.countByStream([old.id])).values()]).to.deep.equal([500]);
      expect(await history.expire(10)).to.equal(false);
      expect(await history.holds([old.id])).to.equal(false);
      expect(await history.holds([young.id])).to.equal(true);
      expect(await counted()).to.deep.equal([{ stream: "web", slot: HOUR, count: 1_501 }]);
    });

    it("returns the messages of some entities in the order of arrival and position, in pages", async () => {
      const { id, messages } = await kept(
        { arrival: 30 },
        { arrival: 10.5, position: 1 },
        { arrival: 10.5, position: 0 },
      );
      const another = await kept({ arrival: 40 }, { arrival: 20, stream: "app" });
      await kept({ arrival: 20 });
      const { history } = opened.stores;
      const ordered = [messages[2], messages[1], another.messages[1], messages[0], another.messages[0]];
      const all = await history.page([id, another.id], undefined, 9);
      const plain = (found: readonly (HistoryMessage | undefined)[]) =>
        found.map((one) => one && { ...one, sealed: [...one.sealed] });
      expect(plain(all)).to.deep.equal(plain(ordered));
      for (const [after, limit] of [
        [-1, 1],
        [-1, 3],
        [0, 1],
        [1, 2],
        [2, 9],
        [4, 9],
      ] as const) {
        const page = await history.page([id, another.id], all[after], limit);
        expect(plain(page), `after ${after}`).to.deep.equal(plain(ordered.slice(after + 1, after + 1 + limit)));
      }
      await history.erase([id]);
      expect(await history.page([id], undefined, 9)).to.deep.equal([]);
    });

    it("returns every message with the same arrival and position, also across pages", async () => {
      const { id, ids } = await kept(...Array.from({ length: 3 }, () => ({ arrival: 7, position: 0 })));
      const { history } = opened.stores;
      const found: string[] = [];
      for (let last: HistoryMessage | undefined; ; ) {
        [last] = await history.page([id], last, 1);
        if (last === undefined) break;
        found.push(last.id);
      }
      expect(found).to.deep.equal([...ids].sort());
    });

    it("counts the messages of entities by stream, and finds those with a given arrival and position", async () => {
      const one = await kept(
        { arrival: 1, position: 0 },
        { arrival: 1, position: 1 },
        { arrival: 2, position: 0, stream: "app" },
      );
      const two = await kept({ arrival: 3, position: 0 });
      await kept({ arrival: 1 });
      const { history } = opened.stores;
      expect([...(await history.countByStream([one.id, two.id]))].sort()).to.deep.equal([
        ["app", 1],
        ["web", 3],
      ]);
      expect(await history.countByStream([])).to.deep.equal(new Map());
      const found = await history.at(
        [one.id, two.id],
        [1, 3, 9].map((arrival) => ({ arrival, position: 0 })),
      );
      const places = found.map(({ stream, arrival, position }) => ({ stream, arrival, position }));
      const wanted = [one.messages[0], two.messages[0]] as HistoryMessage[];
      expect(places).to.have.deep.members(
        wanted.map(({ stream, arrival, position }) => ({ stream, arrival, position })),
      );
      expect(await history.at([], [{ arrival: 1, position: 0 }])).to.deep.equal([]);
      expect(await history.at([one.id], [])).to.deep.equal([]);
    });
  });
}
