import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { experience } from "../../src/metrics/dimensions/experience.js";
import { segment } from "../../src/metrics/dimensions/segment.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import type { Series } from "../../src/metrics/series.js";
import type { SlotClaims, SlotSample } from "../../src/metrics/slot-claims.js";

/** What every engine promises of claims and leases. */
export function slotClaimsContract(
  name: string,
  open: () => Promise<{ claims: SlotClaims; close(): Promise<void> }>,
): void {
  describe(`slot claims: ${name}`, () => {
    const start = Date.UTC(2024, 1, 29);
    const views: Series = { dimension: stream, id: "views", type: "size" };
    const all = [stream, segment, experience];
    let claims: SlotClaims;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      claims = opened.claims;
      close = () => opened.close();
    });
    afterEach(() => close());

    const sample = (value: number, hour = 0, series = views): SlotSample => ({
      series,
      slot: start + hour * HOUR,
      value,
    });
    const at = (hour: number) => ({ series: views, slot: start + hour * HOUR });
    const taken = (value: number, hour = 0, series = views) => ({ ...sample(value, hour, series), confirmed: false });
    const confirmed = (value: number, hour = 0) => ({ ...sample(value, hour), confirmed: true });
    const column = (hour: number, ...values: number[]) => ({
      series: views,
      from: start + hour * HOUR,
      values: Float64Array.from(values),
    });
    /** Claims slots and has them written, as the recorder does. */
    const write = async (samples: readonly SlotSample[], options?: { grows: boolean }) => {
      await claims.claim(samples, options);
      await claims.settle(await claims.confirm(samples));
    };
    const unsettled = async () => (await claims.unsettled(all, 99)).map(({ value }) => value);

    for (const { what, steps } of [
      {
        what: "is held off by another's until it ends",
        steps: [
          ["a", 0, 5, true],
          ["b", 4, 9, false],
          ["b", 5, 9, true],
        ],
      },
      {
        what: "can be renewed by its owner",
        steps: [
          ["a", 0, 5, true],
          ["a", 3, 8, true],
          ["b", 7, 9, false],
        ],
      },
      {
        what: "can be ended by its owner",
        steps: [
          ["a", 0, 5, true],
          ["a", 2, 2, true],
          ["b", 2, 9, true],
        ],
      },
      {
        what: "is void when the clock was set back before it",
        steps: [
          ["a", 100, 105, true],
          ["b", 10, 15, true],
        ],
      },
    ] as const) {
      it(`a lease ${what}`, async () => {
        for (const [owner, now, until, taken] of steps) {
          expect(await claims.lease("recorder", owner, start + now, start + until)).to.equal(taken);
        }
        expect(await claims.lease("another", "c", start, start + 1)).to.equal(true);
      });
    }

    it("keeps the first value claimed for a slot", async () => {
      expect(await claims.claim([sample(1), sample(2, 1)])).to.deep.equal([taken(1), taken(2, 1)]);
      expect(await claims.claim([sample(7), sample(8, 2)])).to.deep.equal([taken(1), taken(8, 2)]);
      expect(await claims.claimed([sample(0), sample(0, 1), sample(0, 3)])).to.deep.equal([sample(1), sample(2, 1)]);
    });

    it("keeps the largest value of a slot that grows, and takes it for unsettled then", async () => {
      await write([sample(5)], { grows: true });
      expect(await claims.claim([sample(4)], { grows: true })).to.deep.equal([]);
      expect(await unsettled()).to.deep.equal([]);
      expect(await claims.claim([sample(6)], { grows: true })).to.deep.equal([confirmed(6)]);
      expect(await claims.claim([sample(5)], { grows: true })).to.deep.equal([confirmed(6)]);
      expect(await unsettled()).to.deep.equal([6]);
    });

    it("lets nothing be written before it is confirmed, and then what is kept by then", async () => {
      await claims.claim([sample(5)], { grows: true });
      expect(await claims.claim([sample(6)], { grows: true })).to.deep.equal([taken(6)]);
      expect(await claims.unsettled(all, 9)).to.deep.equal([taken(6)]);
      expect(await claims.confirm([sample(5), sample(9, 9)])).to.deep.equal([sample(6)]);
      expect(await claims.claim([sample(5)], { grows: true })).to.deep.equal([confirmed(6)]);
      expect(await claims.unsettled(all, 9)).to.deep.equal([confirmed(6)]);
    });

    it("forgets a claim that is withdrawn, unless it is confirmed", async () => {
      await claims.claim([sample(1, 1), sample(2, 2)]);
      await claims.confirm([sample(2, 2)]);
      for (let times = 0; times < 2; times += 1) await claims.withdraw([sample(1, 1), sample(2, 2), sample(3, 3)]);
      expect(await claims.claimed([sample(0, 1), sample(0, 2)])).to.deep.equal([sample(2, 2)]);
      expect(await claims.confirm([sample(1, 1)])).to.deep.equal([]);
      expect(await claims.claim([sample(7, 1)])).to.deep.equal([taken(7, 1)]);
    });

    it("tells series apart by dimension, id and type", async () => {
      const series: Series[] = [
        views,
        { ...views, id: "Views" },
        { dimension: experience, id: "views", type: "potentialreach" },
        { dimension: experience, id: "views", type: "actualreach" },
      ];
      await claims.claim(series.map((one, index) => sample(index + 0.5, 0, one)));
      expect((await claims.claimed(series.map((one) => sample(0, 0, one)))).map(({ value }) => value)).to.deep.equal([
        0.5, 1.5, 2.5, 3.5,
      ]);
    });

    it("names unsettled claims, oldest slot first, of the dimensions asked for", async () => {
      const members: Series = { dimension: segment, id: "all", type: "size" };
      await claims.claim([sample(3, 3), sample(1, 1), sample(2, 2, members)]);
      expect(await claims.unsettled(all, 2)).to.deep.equal([taken(1, 1), taken(2, 2, members)]);
      expect(await claims.unsettled([stream], 9)).to.deep.equal([taken(1, 1), taken(3, 3)]);
      await write([sample(1, 1), sample(2, 2, members)]);
      expect(await claims.settle([sample(1, 1), sample(9, 9)])).to.deep.equal([]);
      expect(await unsettled()).to.deep.equal([3]);
    });

    it("takes a claim for unsettled when another value than the one kept was written, and names that", async () => {
      await write([sample(7)], { grows: true });
      expect(await claims.settle([sample(5)])).to.deep.equal([sample(7)]);
      expect(await unsettled()).to.deep.equal([7]);
      expect(await claims.settle([sample(7)])).to.deep.equal([]);
      expect(await unsettled()).to.deep.equal([]);
    });

    it("never claims again what was given away", async () => {
      await write([sample(1, 1), sample(2, 2), sample(3, 3)]);
      expect(await claims.giveAway([column(1, 10, 20)])).to.deep.equal([at(1), at(2)]);
      expect(await claims.claim([sample(99, 1), sample(99, 2), sample(99, 3)], { grows: true })).to.deep.equal([
        confirmed(99, 3),
      ]);
      expect(await claims.confirm([at(1)])).to.deep.equal([]);
      await claims.withdraw([at(1)]);
      expect(await claims.claimed([at(1), at(2), at(3)])).to.deep.equal([sample(99, 3)]);
      expect(await claims.claim([sample(99, 1)])).to.deep.equal([]);
    });

    for (const { what, before } of [
      { what: "not confirmed", before: () => claims.claim([sample(1)]) },
      { what: "confirmed", before: () => claims.claim([sample(1)]).then(() => claims.confirm([at(0)])) },
      { what: "settled", before: () => write([sample(1)]) },
      { what: "given away before", before: () => write([sample(1)]).then(() => claims.giveAway([column(0, 9)])) },
    ]) {
      it(`hands out what was written through points when a recorder may have covered it, of a claim ${what}`, async () => {
        await before();
        await claims.giveAway([column(0, 10)]);
        expect(await claims.settle([sample(1)])).to.deep.equal([sample(10)]);
        expect(await claims.unsettled(all, 9)).to.deep.equal([confirmed(10)]);
        expect(await claims.giveAway([column(0, 11)])).to.deep.equal([]);
        expect(await claims.settle([sample(10)])).to.deep.equal([sample(11)]);
        expect(await claims.settle([sample(11)])).to.deep.equal([]);
        expect(await unsettled()).to.deep.equal([]);
      });
    }

    it("has what was written through points written once more when its recorder never came back", async () => {
      await claims.claim([sample(1)]);
      await claims.confirm([at(0)]);
      await claims.giveAway([column(0, 10)]);
      expect(await claims.unsettled(all, 9)).to.deep.equal([confirmed(10)]);
    });

    it("leaves slots that are not said, and those without a claim, alone when columns are given away", async () => {
      await claims.claim([sample(1, 1), sample(3, 3)]);
      expect(await claims.giveAway([column(0, 5, Number.NaN, 5, 5)])).to.deep.equal([at(3)]);
      expect(await claims.giveAway([{ ...column(0, 5, 5), series: { ...views, id: "others" } }])).to.deep.equal([]);
      expect(await claims.claim([sample(2, 0), sample(2, 1), sample(2, 2), sample(2, 3)])).to.deep.equal([
        taken(2, 0),
        taken(1, 1),
        taken(2, 2),
      ]);
    });

    it("keeps the later value of a slot that is given away twice in one call", async () => {
      await write([sample(1)]);
      expect(await claims.giveAway([column(0, 5), column(0, 6)])).to.deep.equal([at(0)]);
      expect(await claims.settle([sample(5)])).to.deep.equal([sample(6)]);
    });

    it("gives slots of thousands of series away at once", async () => {
      const many = Array.from({ length: 3_000 }, (_, index): Series => ({ ...views, id: `series ${index}` }));
      await claims.claim(many.slice(0, 3).map((series) => sample(1, 1, series)));
      const given = await claims.giveAway(many.map((series, index) => ({ ...column(index % 2, 5, 6), series })));
      expect(new Set(given.map(({ series }) => series.id))).to.deep.equal(
        new Set(["series 0", "series 1", "series 2"]),
      );
      expect(await claims.claim(many.slice(0, 5).map((series) => sample(9, 1, series)))).to.have.length(2);
    });

    it("keeps one value of a slot that several claim at the same moment", async () => {
      const claimed = await Promise.all([1, 2, 3].map((value) => claims.claim([sample(value), sample(value, 1)])));
      const kept = await claims.claimed([at(0), at(1)]);
      for (const one of claimed) expect(one.map(({ value }) => value)).to.deep.equal(kept.map(({ value }) => value));
    });

    it("forgets claims before a moment, but none that is unsettled, and none of other dimensions", async () => {
      const members: Series = { dimension: segment, id: "all", type: "size" };
      const samples = [sample(0, 0, members), sample(1, 1, members), sample(2, 2, members), sample(3)];
      await claims.claim(samples);
      await write([sample(1, 1, members), sample(2, 2, members), sample(3)]);
      await claims.forget([segment], start + 2 * HOUR);
      await claims.forget([segment], start + 2 * HOUR);
      expect((await claims.claimed(samples)).map(({ value }) => value)).to.deep.equal([0, 2, 3]);
    });
  });
}
