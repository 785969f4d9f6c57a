import { expect } from "chai";
import { HeldCalls } from "../support/held-calls.js";
import { holdersOf } from "../support/holders.js";
import { openTemporaryStores } from "../support/stores.js";
import { openProcess, virtualClock } from "./erasure-world.js";

/** A living process runs a request at most 15 s after its worker died: the lease has ended by then. */
const LEASE_ENDED_MS = 14_000;
/** Number of kills so early in a run that no run can end. */
const EARLY = 20;

describe("a deletion whose worker dies", function () {
  this.timeout(60_000);

  it("at one call after the other shows no profile, and is completed by the living process", async () => {
    const { stores } = await openTemporaryStores();
    const time = virtualClock();
    const calls = new HeldCalls();
    const living = openProcess(stores, time.clock);
    const dying = openProcess(stores, time.clock, calls);
    const arrival = time.now();
    const identities = ["email:a", "user_id:a"];
    await living.collect({ identities, time: arrival, arrival, attribute: ["plan", 1], segment: "buyers" });
    time.pass(1000);
    const id = await living.delete("email:a");

    const dieAt = async (call: number) => {
      const reached = calls.hold(call);
      const running = dying.run(id).catch(() => {});
      await Promise.race([reached, running]);
      calls.die();
      await running;
      calls.revive();
      time.pass(LEASE_ENDED_MS);
      for (const identity of identities) expect(await living.read(identity), `call ${call}`).to.equal(undefined);
      return (await stores.ledger.find(id))?.completedAt !== undefined;
    };
    for (let death = 0; death < EARLY; death += 1) expect(await dieAt(death % 5)).to.equal(false);
    let deaths = EARLY;
    for (let call = 5; !(await dieAt(call)); call += 1) deaths += 1;
    expect(deaths).to.be.at.least(EARLY + 5);

    await living.runDue();
    const deletion = await stores.ledger.find(id);
    expect(deletion?.completedAt).to.be.a("number");
    expect(await holdersOf(stores, deletion?.entities ?? [])).to.deep.equal([]);
  });
});
