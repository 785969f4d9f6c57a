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
      expect(await claims.claim([sample(1), sample(2, 1)])).to.deep.equal([sample(1), sample(2, 1)]);
      expect(await claims.claim([sample(7), sample(8, 2)])).to.deep.equal([sample(1), sample(8, 2)]);
      expect(await claims.claimed([sample(0), sample(0, 1), sample(0, 3)])).to.deep.equal([sample(1), sample(2, 1)]);
    });

    it("keeps the largest value of a slot that grows, and takes it for unsettled then", async () => {
      await claims.claim([sample(5)], { grows: true });
      await claims.settle([sample(5)]);
      expect(await claims.claim([sample(4)], { grows: true })).to.deep.equal([sample(5)]);
      expect(await unsettled()).to.deep.equal([]);
      expect(await claims.claim([sample(6)], { grows: true })).to.deep.equal([sample(6)]);
      expect(await unsettled()).to.deep.equal([6]);
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
      expect(await claims.unsettled(all, 2)).to.deep.equal([sample(1, 1), sample(2, 2, members)]);
      expect(await claims.unsettled([stream], 9)).to.deep.equal([sample(1, 1), sample(3, 3)]);
      await claims.settle([sample(1, 1), sample(2, 2, members)]);
      await claims.settle([sample(1, 1), sample(9, 9)]);
      expect(await unsettled()).to.deep.equal([3]);
    });

    it("takes a claim for unsettled when another value than the one kept was written", async () => {
      await claims.claim([sample(7)], { grows: true });
      await claims.settle([sample(7)]);
      await claims.settle([sample(5)]);
      expect(await unsettled()).to.deep.equal([7]);
    });

    it("never claims again what was given away, and says nothing of it", async () => {
      await claims.claim([sample(1, 1), sample(2, 2), sample(3, 3)]);
      await claims.giveAway([{ series: views, from: start + HOUR, to: start + 3 * HOUR }]);
      expect(await unsettled()).to.deep.equal([3]);
      expect(await claims.claim([sample(9, 1), sample(9, 2), sample(9, 3)], { grows: true })).to.deep.equal([
        sample(9, 3),
      ]);
      await claims.settle([sample(1, 1), sample(9, 3)]);
      expect(await claims.claimed([sample(0, 1), sample(0, 2), sample(0, 3)])).to.deep.equal([sample(9, 3)]);
      expect(await unsettled()).to.deep.equal([]);
    });

    it("leaves slots without a claim alone when they are given away", async () => {
      await claims.giveAway([{ series: views, from: start, to: start + 9 * HOUR }]);
      expect(await claims.claim([sample(1, 1)])).to.deep.equal([sample(1, 1)]);
    });

    it("forgets claims before a moment, but none that is unsettled, and none of other dimensions", async () => {
      const members: Series = { dimension: segment, id: "all", type: "size" };
      const samples = [sample(0, 0, members), sample(1, 1, members), sample(2, 2, members), sample(3)];
      await claims.claim(samples);
      await claims.settle([sample(1, 1, members), sample(2, 2, members), sample(3)]);
      await claims.forget([segment], start + 2 * HOUR);
      await claims.forget([segment], start + 2 * HOUR);
      expect((await claims.claimed(samples)).map(({ value }) => value)).to.deep.equal([0, 2, 3]);
    });
  });
}
