import { expect } from "chai";
import fc from "fast-check";
import type { SlotCount, SlotCounts } from "../../src/metrics/ports.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import type { OpenHistory } from "./history.contract.js";

const HOUR = 3_600_000;

/** Promises of every engine on stream counts. `open` returns a store without counts. */
export function slotCountsContract(name: string, open: () => Promise<OpenHistory>) {
  describe(`the store of stream counts of ${name}`, () => {
    let opened: OpenHistory;
    let counts: SlotCounts;

    beforeEach(async () => {
      opened = await open();
      counts = opened.stores.counts;
      for (const [stream, hour] of [
        ["web", 2],
        ["app", 1],
        ["web", 1],
        ["web", 2],
      ] as const) {
        await count(stream, hour * HOUR);
      }
    });
    afterEach(() => opened.close());

    /** Counts messages of a stream, in one commit, in the slot that starts at `slot`. */
    async function count(stream: string, slot: number, ...arrivals: number[]): Promise<void> {
      const entity = freshEntity();
      const messages = (arrivals.length > 0 ? arrivals : [10.5]).map((arrival) =>
        messageFor(entity.id, { stream, time: slot + 1, arrival }),
      );
      await keep(opened.stores.entities, entity, { messages });
    }

    /** Without the fields that a store adds to a count. */
    const unsaved = async (before: number, limit: number) =>
      (await counts.unsaved(before, limit)).map(({ stream, slot, count }) => ({ stream, slot, count }));

    it("lists unsaved counts of slots before an instant, the oldest first, up to a limit", async () => {
      const all = [
        { stream: "app", slot: HOUR, count: 1 },
        { stream: "web", slot: HOUR, count: 1 },
        { stream: "web", slot: 2 * HOUR, count: 2 },
      ];
      expect(await unsaved(3 * HOUR, 9)).to.deep.equal(all);
      expect(await unsaved(2 * HOUR, 9)).to.deep.equal(all.slice(0, 2));
      expect(await unsaved(3 * HOUR, 1)).to.deep.equal(all.slice(0, 1));
    });

    it("lists a saved count again only after it has grown", async () => {
      await counts.saved(await counts.unsaved(3 * HOUR, 9));
      expect(await unsaved(3 * HOUR, 9)).to.deep.equal([]);
      await count("web", HOUR);
      expect(await unsaved(3 * HOUR, 9)).to.deep.equal([{ stream: "web", slot: HOUR, count: 2 }]);
    });

    for (const [what, order] of [
      ["first", [1, 0]],
      ["last", [0, 1]],
    ] as const) {
      it(`lists a count again after two recorders saved different numbers of it, the larger one ${what}`, async () => {
        const fewer = await counts.unsaved(2 * HOUR, 9);
        await count("app", HOUR);
        const more = await counts.unsaved(2 * HOUR, 9);
        for (const at of order) await counts.saved([fewer, more][at] ?? []);
        const left = await unsaved(2 * HOUR, 9);
        expect(left).to.deep.include({ stream: "app", slot: HOUR, count: 2 });
        await counts.saved(await counts.unsaved(2 * HOUR, 9));
        expect(await unsaved(2 * HOUR, 9)).to.deep.equal([]);
      });
    }

    it("lists a count at most once more after the same number was saved twice", async () => {
      const all = await counts.unsaved(3 * HOUR, 9);
      for (let times = 0; times < 2; times += 1) await counts.saved(all);
      await counts.saved(await counts.unsaved(3 * HOUR, 9));
      expect(await unsaved(3 * HOUR, 9)).to.deep.equal([]);
    });

    it("lists a count again that grew while it was saved, also if a recorder with an earlier clock read it", async () => {
      const all = await counts.unsaved(3 * HOUR, 9);
      await count("app", HOUR);
      await counts.unsaved(0, 9);
      await counts.saved(all);
      expect(await unsaved(2 * HOUR, 9)).to.deep.equal([{ stream: "app", slot: HOUR, count: 2 }]);
    });

    it("lists each stream with messages by name, with the arrival of its newest message", async () => {
      await count("web", HOUR, 699, 700, 5);
      await count("web", 2 * HOUR, 300);
      await count("zoo", HOUR, 5);
      const all = [
        { stream: "app", lastArrival: 10.5 },
        { stream: "web", lastArrival: 700 },
        { stream: "zoo", lastArrival: 5 },
      ];
      expect(await counts.streams(undefined, 9)).to.deep.equal(all);
      expect(await counts.streams(undefined, 2)).to.deep.equal(all.slice(0, 2));
      expect(await counts.streams("app", 9)).to.deep.equal(all.slice(1));
      expect(await counts.streams("zoo", 9)).to.deep.equal([]);
    });

    /** Messages counted by stream and slot, of the first hours. */
    const counted = async (streams: string[], hours = 4) => {
      const ofHour = async (hour: number) =>
        Array.from(
          await counts.counted(streams, hour * HOUR),
          ([stream, count]) => [`${stream} ${hour}`, count] as const,
        );
      const found = (await Promise.all(Array.from({ length: hours }, (_, hour) => ofHour(hour)))).flat();
      return Object.fromEntries(found.filter(([, count]) => count > 0));
    };

    it("returns the counts of streams in a slot, saved or not", async () => {
      const check = async () => {
        expect(await counted(["web", "app", "unknown"])).to.deep.equal({ "app 1": 1, "web 1": 1, "web 2": 2 });
        expect(await counted(["web"], 2)).to.deep.equal({ "web 1": 1 });
        expect(await counted([])).to.deep.equal({});
      };
      await check();
      await counts.saved(await counts.unsaved(9 * HOUR, 9));
      await check();
      await count("web", 2 * HOUR, 99);
      expect(await counted(["web"])).to.deep.equal({ "web 1": 1, "web 2": 3 });
    });

    it("returns every count, in whichever order two recorders read and save", async () => {
      const read: [SlotCount[], SlotCount[]] = [[], []];
      const step = fc.oneof(
        fc.record({ does: fc.constant("count" as const), hour: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ does: fc.constant("read" as const), who: fc.nat(1), before: fc.integer({ min: 0, max: 4 }) }),
        fc.record({ does: fc.constant("save" as const), who: fc.nat(1) }),
      );
      const all: Record<string, number> = { "app 1": 1, "web 1": 1, "web 2": 2 };
      const check = async (steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) => {
        for (const next of steps) {
          if (next.does === "read") read[next.who as 0 | 1] = await counts.unsaved(next.before * HOUR, 9);
          else if (next.does === "save") await counts.saved(read[next.who as 0 | 1]);
          else {
            await count("web", next.hour * HOUR);
            all[`web ${next.hour}`] = (all[`web ${next.hour}`] ?? 0) + 1;
          }
          expect(await counted(["web", "app"]), JSON.stringify(steps)).to.deep.equal(all);
        }
      };
      await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), check), { numRuns: 12 });
    });

    it("returns the same counts before and after they are saved, grow, or their messages expire", async () => {
      const all = { "app 1": 1, "web 1": 1, "web 2": 2 };
      const save = async () => counts.saved(await counts.unsaved(9 * HOUR, 9));
      await save();
      expect(await counted(["web", "app"])).to.deep.equal(all);
      await count("web", 2 * HOUR, 99);
      expect(await counted(["web", "app"])).to.deep.equal({ ...all, "web 2": 3 });
      await opened.stores.history.expire(50);
      expect(await counted(["web", "app"])).to.deep.equal({ ...all, "web 2": 3 });
      expect((await counts.streams(undefined, 9)).map(({ lastArrival }) => lastArrival)).to.deep.equal([10.5, 99]);
      await save();
      await opened.stores.history.expire(100);
      expect(await counted(["web", "app"])).to.deep.equal({ ...all, "web 2": 3 });
      await count("web", 2 * HOUR, 101);
      expect(await counted(["web", "app"])).to.deep.equal({ ...all, "web 2": 4 });
      expect((await counts.streams(undefined, 9)).map(({ lastArrival }) => lastArrival)).to.deep.equal([10.5, 101]);
    });
  });
}
