import { expect } from "chai";
import { type Deletions, deletionsOver, runNow } from "../deletions/erasure-stage.js";
import { openProcess } from "../deletions/erasure-world.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";
import { HeldCalls } from "../support/held-calls.js";

const HOUR_MS = 3_600_000;
const ann = { field: "_uid", value: "ann" };
const ids = ["a".repeat(32)];

describe("P35: a message about a person who was deleted", () => {
  let stage: EntityStage;
  let deletions: Deletions;
  let aheadMs = 0;

  beforeEach(async () => {
    aheadMs = 0;
    stage = await entityStage();
    deletions = deletionsOver(stage.stores, { clock: () => Date.now() + aheadMs });
  });

  const remove = async () => {
    const requestId = await deletions.accept("user", ann);
    await runNow(stage.stores.ledger, deletions, requestId);
  };
  const begin = async () =>
    (await stage.stores.idempotency.begin({ id: "r", arrival: Date.now(), digest: "", tally: "" })).stored.began;
  const plan = async () => (await stage.read("_uid", "ann"))?.plan;

  for (const hours of [-1, 0, 1]) {
    it(`is stored without an event time after a deletion by a clock ${hours} hours ahead, and dropped with an older one`, async () => {
      aheadMs = hours * HOUR_MS;
      await remove();
      const at = Date.now() + aheadMs - 1_000;
      expect(await stage.collect([{ _uid: "ann", plan: "old", at }])).to.deep.equal([]);
      expect(await plan()).to.equal(undefined);
      expect(await stage.collect([{ _uid: "ann", plan: "gold" }])).to.deep.equal([]);
      expect(await plan()).to.equal("gold");
      expect(await stage.counted()).to.equal(1);
    });
  }

  it("is dropped if it names an event time before the deletion, also if it arrived at that time", async () => {
    aheadMs = HOUR_MS;
    await remove();
    const at = Date.now();
    const arrivalClock = () => at;
    expect(await stage.request([{ _uid: "ann", plan: "old", at }], arrivalClock)).to.deep.equal([]);
    expect(await plan()).to.equal(undefined);
    expect(await stage.request([{ _uid: "ann", plan: "gold" }], arrivalClock)).to.deep.equal([]);
    expect(await plan()).to.equal("gold");
  });

  for (const [what, hours] of [
    ["behind", -1],
    ["ahead", 1],
  ] as const) {
    it(`is stored by a repeat only if its request first arrived after the deletion by a clock that is ${what}`, async () => {
      aheadMs = hours * HOUR_MS;
      const earlier = await begin();
      await stage.collect([{ _uid: "ann", plan: "gold" }], { ids, possiblyStoredSince: earlier });
      expect(await plan()).to.equal("gold");
      await remove();
      const later = { _uid: "ann", plan: "silver", at: Date.now() + 2 * HOUR_MS };
      for (const message of [{ _uid: "ann", plan: "gold" }, later]) {
        await stage.collect([message], { ids, possiblyStoredSince: earlier });
        expect(await plan()).to.equal(undefined);
      }
      await stage.stores.idempotency.forget(Date.now() + 100 * HOUR_MS);
      await stage.collect([{ _uid: "ann", plan: "gold" }], { ids, possiblyStoredSince: await begin() });
      expect(await plan()).to.equal("gold");
    });
  }

  for (const isRepeated of [true, false]) {
    it(`is not stored by a run during whose commit ${isRepeated ? "a repeat of it was stored and erased" : "its person was deleted"}`, async () => {
      const calls = new HeldCalls();
      const held = openProcess(stage.stores, Date.now, calls);
      const other = openProcess(stage.stores, Date.now);
      const message = {
        identities: ["email:ann"],
        time: undefined,
        key: "key",
        attribute: ["plan", 1],
        segment: "s",
      } as const;
      const reached = calls.hold(0, "commit");
      const running = held.collect({ ...message, arrival: 1 });
      await reached;
      if (isRepeated) await other.collect({ ...message, arrival: 2 });
      expect((await other.read("email:ann"))?.attributes).to.deep.equal(isRepeated ? { plan: 1 } : undefined);
      await other.run(await other.delete("email:ann"));
      calls.release();
      await running;
      expect(await other.read("email:ann")).to.equal(undefined);
      await other.collect({ ...message, arrival: 3, key: "another" });
      expect((await other.read("email:ann"))?.attributes).to.deep.equal({ plan: 1 });
    });
  }
});
