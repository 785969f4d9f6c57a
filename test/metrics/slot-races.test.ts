import { expect } from "chai";
import fc from "fast-check";
import type { Stores } from "../../src/stores/stores.js";
import { amount, storesOnServers } from "../support/servers.js";
import { temporaryStores } from "../support/stores.js";
import { type Choice, chosenBy, everyOrder, ordersOfChance } from "./interleaving.js";
import { type RaceOptions, SlotRace } from "./slot-races.js";

/** Number of orders of calls that are tried if each call goes to a server. */
const ON_SERVERS = 12;

describe("a slot of several recorders in other processes", function () {
  this.timeout(120_000);
  let stores: Stores;

  before(async () => {
    stores = await temporaryStores();
  });
  after(() => stores.close());

  const race = (options?: RaceOptions) => new SlotRace(stores, options);

  it("has one size in every order of calls of two recorders", async () => {
    const orders = await inOrders(async (choose) => {
      const all = race().size(5).size(6);
      const order = await all.run(choose);
      expect(all.written, order.join("")).to.have.length(1);
      expect(await all.stored(), order.join("")).to.equal(all.written[0]);
    });
    expect(orders).to.equal(amount(10, ON_SERVERS));
  });

  it("has one size also if a recorder is paused at any call until after its lease", async () => {
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

  it("has the full count in every order of calls, also if a recorder writes after its lease", async () => {
    const orders = await inOrders(async (choose) => {
      const all = race({ sleepy: true });
      await all.receive(3);
      all.count({ hasLooked: true }).count().message();
      const order = await all.run(choose);
      await all.settle();
      expect(await all.stored(), order.join("")).to.equal(4);
    });
    expect(orders).to.be.greaterThan(amount(200, 0));
  });
});

/** Every order of calls, or on servers some; resolves with their number. */
async function inOrders(once: (choose: Choice) => Promise<void>): Promise<number> {
  if (!storesOnServers) return everyOrder(once);
  await fc.assert(
    fc.asyncProperty(ordersOfChance, (chosen) => once(chosenBy(chosen))),
    { numRuns: ON_SERVERS },
  );
  return ON_SERVERS;
}
