import { expect } from "chai";
import type { Stores } from "../../src/stores/stores.js";
import { HeldCalls } from "../support/held-calls.js";
import { holdersOf } from "../support/holders.js";
import { storesOnServers } from "../support/servers.js";
import { type OpenStores, openTemporaryStores, storesOf } from "../support/stores.js";
import { openProcess, type Process, virtualClock } from "./erasure-world.js";

describe("a DELETE of a profile that a concurrent message merges with another", function () {
  this.timeout(60_000);
  const time = virtualClock();
  let open: OpenStores;
  /** Another opening of the same stores, where the engine allows one; else the same. */
  let second: Stores;
  /** Every id that a profile was ever given. */
  let made: string[];

  beforeEach(async () => {
    made = [];
    open = await openTemporaryStores();
    second = storesOnServers ? (await storesOf(open.dir)).stores : open.stores;
  });

  const process = (stores: Stores, calls?: HeldCalls) => openProcess(stores, time.clock, calls, made);
  const remove = (at: Process, identity: string) => at.delete(identity);
  const collect = (at: Process, identities: readonly string[], segment?: string) => {
    const arrival = time.now();
    return at.collect({ identities, time: arrival, arrival, attribute: ["seen", 1], segment });
  };

  /** Runs open requests until none is left: requests may wait for each other. */
  async function runAll(at: Process, requestIds: readonly string[]): Promise<void> {
    let left = requestIds;
    for (let round = 0; left.length > 0 && round < 10; round += 1) {
      for (const id of left) await at.run(id);
      const found = await Promise.all(left.map((id) => open.stores.ledger.find(id)));
      left = left.filter((_, index) => found[index]?.completedAt === undefined);
    }
    expect(left).to.deep.equal([]);
  }

  async function expectNothingLeft(): Promise<void> {
    expect(made.length).to.be.greaterThan(0);
    expect(await holdersOf(open.stores, made)).to.deep.equal([]);
    expect(await open.stores.memberships.sizes(["vip"])).to.deep.equal([0]);
  }

  /** Stores two profiles: the first one is the older, into which the other is merged. */
  async function twoProfiles(at: Process, older: string, younger: string): Promise<void> {
    for (const identity of [older, younger]) await collect(at, [identity], "vip");
  }

  for (const { which, older, younger } of [
    { which: "that stays", older: "email:t", younger: "user_id:x" },
    { which: "that is merged into the other", older: "user_id:x", younger: "email:t" },
  ]) {
    it(`leaves nothing of the profile ${which}, which is merged before the DELETE is accepted`, async () => {
      const calls = new HeldCalls();
      const eraser = process(open.stores, calls);
      const writer = process(second);
      await twoProfiles(writer, older, younger);
      const reached = calls.hold(0, "accept");
      const requested = remove(eraser, "email:t");
      await reached;
      await collect(writer, [older, younger]);
      calls.release();
      await runAll(eraser, [await requested]);
      await expectNothingLeft();
    });

    it(`leaves nothing of the profile ${which}, whose merge is committed after the DELETE is accepted`, async () => {
      const calls = new HeldCalls();
      await twoProfiles(process(second), older, younger);
      const reached = calls.hold(0, "commit");
      const written = collect(process(second, calls), [older, younger]);
      await reached;
      const eraser = process(open.stores);
      const requested = [await remove(eraser, "email:t"), await remove(eraser, "user_id:x")];
      calls.release();
      await written;
      await runAll(eraser, requested);
      await expectNothingLeft();
    });
  }

  it("leaves nothing of 24 concurrent ones once both identities of each are deleted", async () => {
    const [writer, eraser] = [process(second), process(open.stores)];
    const people = Array.from({ length: 24 }, (_, index) => [`email:t-${index}`, `user_id:x-${index}`] as const);
    await Promise.all(
      people.map(([one, other], index) =>
        index % 2 === 0 ? twoProfiles(writer, one, other) : twoProfiles(writer, other, one),
      ),
    );
    const requests = await Promise.all(
      people.map(async (person) => {
        const [, requestId] = await Promise.all([collect(writer, person), remove(eraser, person[0])]);
        return requestId;
      }),
    );
    for (const identity of people.flat()) requests.push(await remove(eraser, identity));
    await runAll(eraser, requests);
    await expectNothingLeft();
  });
});
