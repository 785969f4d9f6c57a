import { expect } from "chai";
import fc from "fast-check";
import type { Stores } from "../../src/stores/stores.js";
import { chosenBy, everyOrder, ordersOfChance } from "../support/interleaving.js";
import { SlotRace } from "../support/slot-races.js";
import { temporaryStores } from "../support/temporary-stores.js";

describe("a slot written through points while recorders work in other processes", () => {
  let stores: Stores;

  before(async () => {
    stores = await temporaryStores({ inMemory: true });
  });
  after(() => stores.close());

  const race = () => new SlotRace(stores);
  /** A race after a recorder has worked, or died. */
  const begun = async (calls?: number) => {
    const first = race().recorder(3, { grows: true, ...(calls === undefined ? {} : { calls }) });
    await first.run();
    return first;
  };

  for (const { what, begin } of [
    { what: "a recorder with a size", begin: async () => race().recorder(5) },
    { what: "a recorder with a count", begin: async () => race().recorder(5, { grows: true }) },
    { what: "a recorder that raises a count", begin: async () => (await begun()).recorder(5, { grows: true }) },
    { what: "a recorder that finishes a claim without a look", begin: async () => (await begun(1)).finisher() },
    { what: "a recorder that finishes a claim without a write", begin: async () => (await begun(3)).finisher() },
    { what: "a recorder that finishes a write without a note", begin: async () => (await begun(4)).finisher() },
  ]) {
    it(`keeps the value written, in every order of calls: ${what}`, async () => {
      const orders = await everyOrder(async (choose) => {
        const both = (await begin()).writer(100);
        const order = await both.run(choose);
        expect(await both.standing(), order.join("")).to.equal(100);
        expect(await both.value(), order.join("")).to.equal(100);
      });
      expect(orders).to.be.greaterThan(20);
    });
  }

  for (const { what, grows } of [
    { what: "a size", grows: false },
    { what: "a count", grows: true },
  ]) {
    it(`keeps the value written, in every order of calls, when the recorder with ${what} dies at any of them`, async () => {
      for (const late of [false, true]) {
        for (let calls = 0; calls < 7; calls += 1) {
          await everyOrder(async (choose) => {
            const both = race().recorder(5, { grows, calls, late }).writer(100);
            const order = await both.run(choose);
            expect(await both.value(), `${calls} ${late} ${order.join("")}`).to.equal(100);
          });
        }
      }
    }).timeout(60_000);
  }

  for (const { what, begin, ends } of [
    { what: "a writer that writes twice", begin: () => race().recorder(5).writer(100, 200), ends: [200] },
    {
      what: "a writer that writes twice, and a count",
      begin: () => race().recorder(5, { grows: true }).recorder(6, { grows: true }).writer(100, 200),
      ends: [200],
    },
    { what: "two recorders", begin: () => race().recorder(5).recorder(6).writer(100), ends: [100] },
    {
      what: "a recorder, and one that finishes what it has begun",
      begin: () => race().recorder(5).finisher().writer(100),
      ends: [100],
    },
    { what: "two writers", begin: () => race().recorder(5).writer(100).writer(200), ends: [100, 200] },
    {
      what: "two writers, one of them twice",
      begin: () => race().recorder(5).finisher().writer(100, 200).writer(300),
      ends: [200, 300],
    },
  ]) {
    it(`keeps a value written, in orders of chance: ${what}`, async () => {
      await fc.assert(
        fc.asyncProperty(ordersOfChance, async (chosen) => {
          const all = begin();
          await all.run(chosenBy(chosen));
          expect(ends).to.include(await all.value());
        }),
        { numRuns: 400 },
      );
    });
  }

  it("leaves counts to the recorders when nobody writes", async () => {
    await fc.assert(
      fc.asyncProperty(ordersOfChance, async (chosen) => {
        const all = race().recorder(5, { grows: true }).recorder(7, { grows: true }).finisher();
        await all.run(chosenBy(chosen));
        expect(await all.value()).to.equal(9_999);
      }),
      { numRuns: 200 },
    );
  });
});
