import { expect } from "chai";
import fc from "fast-check";
import type { Stores } from "../../src/stores/stores.js";
import { amount, storesOnServers } from "../support/servers.js";
import { temporaryStores } from "../support/stores.js";
import { type Choice, chosenBy, everyOrder, ordersOfChance } from "./interleaving.js";
import { type RaceOptions, SlotRace } from "./slot-races.js";

/** Orders of calls that are tried where each call goes to a server. */
const ON_SERVERS = 12;

describe("a slot that clients write while recorders work in other processes", function () {
  this.timeout(120_000);
  let stores: Stores;

  before(async () => {
    stores = await temporaryStores();
  });
  after(() => stores.close());

  const race = (options?: RaceOptions) => new SlotRace(stores, options);
  /** A race whose stream has received messages; then a recorder has worked, or died at its call number `calls`. */
  const begun = async (received: number, calls?: number) => {
    const all = race({ sleepy: true });
    await all.receive(received);
    if (calls === undefined || calls > 0) await all.count(calls === undefined ? {} : { calls }).run();
    return all;
  };

  for (const { what, begin } of [
    { what: "a recorder with a size", begin: async () => race().size(5) },
    { what: "a recorder with a count", begin: async () => (await begun(3, 0)).count() },
    {
      what: "a recorder that raises a count",
      begin: async () => {
        const all = await begun(3);
        await all.receive();
        return all.count();
      },
    },
    { what: "a recorder that follows one that died before its write", begin: async () => (await begun(3, 4)).count() },
    { what: "a recorder that follows one that died after its write", begin: async () => (await begun(3, 5)).count() },
  ]) {
    it(`has the value of the clients, in every order of calls: ${what}`, async () => {
      const orders = await inOrders(async (choose) => {
        const both = (await begin()).writer(100, 200);
        const order = await both.run(choose);
        expect(both.seen, order.join("")).to.deep.equal([100, 200]);
        expect(await both.stored(), order.join("")).to.equal(200);
        expect(await both.value(), order.join("")).to.equal(200);
      });
      expect(orders).to.be.greaterThan(amount(100, 0));
    });
  }

  for (const { what, recorder } of [
    { what: "a size", recorder: (calls: number, late: boolean) => race().size(5, { calls, late }) },
    {
      what: "a count",
      async recorder(calls: number, late: boolean) {
        return (await begun(3, 0)).count({ calls, late });
      },
    },
  ]) {
    it(`has the value of the clients, in every order of calls, when the recorder with ${what} dies at any of them`, async () => {
      for (const late of [false, true]) {
        for (let calls = 0; calls < 6; calls += 1) {
          await inOrders(async (choose) => {
            const both = (await recorder(calls, late)).writer(100);
            const order = await both.run(choose);
            expect(both.seen, `${calls} ${late} ${order.join("")}`).to.deep.equal([100]);
            expect(await both.value(), `${calls} ${late} ${order.join("")}`).to.equal(100);
          }, 2);
        }
      }
    });
  }

  for (const { what, begin, ends } of [
    { what: "two recorders", begin: async () => race().size(5).size(6).writer(100), ends: [100] },
    {
      what: "two recorders that sleep past their leases",
      begin: async () => race({ sleepy: true }).size(5).size(6).writer(100, 200),
      ends: [200],
    },
    {
      what: "two recorders with counts that sleep past their leases",
      begin: async () => (await begun(3, 0)).count().count().message().writer(100, 200),
      ends: [200],
    },
    { what: "two writers", begin: async () => race().size(5).writer(100).writer(200), ends: [100, 200] },
    {
      what: "two writers, one of them twice",
      begin: async () => (await begun(3, 0)).count().writer(100, 200).writer(300),
      ends: [200, 300],
    },
  ]) {
    it(`has a value of the clients, in random orders: ${what}`, async () => {
      await fc.assert(
        fc.asyncProperty(ordersOfChance, async (chosen) => {
          const all = await begin();
          await all.run(chosenBy(chosen));
          expect(ends).to.include(await all.value());
        }),
        { numRuns: amount(300, ON_SERVERS) },
      );
    });
  }

  it("has the recorder's size where clients write nothing, one in every order of calls of two recorders", async () => {
    const orders = await inOrders(async (choose) => {
      const all = race().size(5).size(6);
      const order = await all.run(choose);
      expect(all.written, order.join("")).to.have.length(1);
      expect(await all.stored(), order.join("")).to.equal(all.written[0]);
    });
    expect(orders).to.equal(amount(10, ON_SERVERS));
  });

  it("keeps its size when a recorder wakes that slept past its lease, wherever it was stopped", async () => {
    const orders = await inOrders(async (choose) => {
      const all = race({ sleepy: true }).size(5, { promptWrite: true }).size(6, { promptWrite: true });
      const order = await all.run(choose);
      expect(all.written.length, order.join("")).to.be.at.most(1);
      await all.size(7).run();
      expect(all.written, order.join("")).to.have.length(1);
      expect(await all.stored(), order.join("")).to.equal(all.written[0]);
    });
    expect(orders).to.be.greaterThan(amount(50, 0));
  });

  it("has the full count where clients write nothing, also when a recorder writes after its lease, in every order of calls", async () => {
    const orders = await inOrders(async (choose) => {
      const all = (await begun(3, 0)).count({ hasLooked: true }).count().message();
      const order = await all.run(choose);
      await all.settle();
      expect(await all.stored(), order.join("")).to.equal(4);
    });
    expect(orders).to.be.greaterThan(amount(200, 0));
  });

  it("keeps what each plane holds of it, in every order of calls", async () => {
    await inOrders(async (choose) => {
      const both = (await begun(3, 0)).count().writer(100);
      await both.run(choose);
      await both.settle();
      expect([await both.stored("clients"), await both.stored("recorder")]).to.deep.equal([100, 3]);
    });
  });
});

/** Every order of calls, or on servers some; resolves with their number. */
async function inOrders(once: (choose: Choice) => Promise<void>, numRuns = ON_SERVERS): Promise<number> {
  if (!storesOnServers) return everyOrder(once);
  await fc.assert(
    fc.asyncProperty(ordersOfChance, (chosen) => once(chosenBy(chosen))),
    { numRuns },
  );
  return numRuns;
}
