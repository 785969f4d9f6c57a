import { expect } from "chai";
import { RuleWorld, type Sent } from "../../entities/rule-world.js";
import { HeldCalls } from "../../support/held-calls.js";
import { onServers } from "../../support/servers.js";
import { openTemporaryStores } from "../../support/stores.js";
import { openTestEngine, type TestEngine } from "./engine.js";
import { heldCommits } from "./held-commits.js";

const HOUR = 3_600_000;

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  it("P38: a commit that was planned before a rule changed, and is stored after it, is decided again", async () => {
    const calls = new HeldCalls();
    const entities = heldCommits(engine, calls);
    const others = await openTemporaryStores();
    const stores = {
      ...others.stores,
      ...engine.stores,
      entities: { ...engine.stores.entities, commit: entities.commit },
    };
    const world = new RuleWorld({ ...others, stores });
    const sent = (plan: string): Sent => ({
      names: ["u"],
      stream: "web",
      ahead: undefined,
      attributes: { plan },
      segments: {},
    });
    const finish = async () => {
      const walker = world.walker();
      while (await walker.tick());
    };
    await world.put("r", { attribute: "plan", is: "free" });
    await finish();
    await world.collect([sent("free")]);
    const reached = calls.hold(0, "commit");
    // Its check fails when the person has the decision of the earlier rule.
    const collected = world.collect([sent("pro")]).then(
      () => "new",
      () => "old",
    );
    await reached;
    await world.put("r", { attribute: "plan", is: "pro" });
    expect(await world.walker({ commitMs: HOUR }).tick()).to.equal(false);
    calls.release();
    expect(await collected).to.equal("old");
    await finish();
    await world.expectTruth();
    await others.close();
  });
});
