import { expect } from "chai";
import { type Deletions, deletionsOver, runNow } from "../deletions/erasure-stage.js";
import { type EntityStage, entityStage, PROFILE_PORTS } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";

const ann = { user_id: "ann", _uid: "tablet", email: "family@x.org", plan: "gold", segments: ["r"] };
const ben = { user_id: "ben", city: "Rome", segments: ["r"] };
/** Names the device and the e-mail of the first user, which are left out. */
const late = [
  { user_id: "ben", _uid: "tablet", new: 1, segments: { add: ["s"] } },
  { user_id: "ben", _uid: "phone", email: "family@x.org", newer: 1 },
];

describe("P36: a writer of a message with identities of another user, held up while a deletion completes,", function () {
  this.timeout(120_000);
  let calls: HeldCalls;
  let stage: EntityStage;
  let deletions: Deletions;

  async function open(): Promise<void> {
    calls = new HeldCalls();
    stage = await entityStage((stores) => portsThrough(stores, PROFILE_PORTS, calls.around));
    deletions = deletionsOver(stage.stores, { clock: Date.now, arrivalClock: stage.arrivalClock });
    await stage.collect([ann, ben]);
  }

  async function close(): Promise<void> {
    await deletions.stop();
    await stage.close();
  }

  /** Calls `check` after a deletion during each call of the writer. */
  async function heldAtEachCall(field: string, value: string, check: (at: string) => Promise<void>): Promise<void> {
    let held = 0;
    for (let at = 0; ; at += 1) {
      await open();
      const reached = calls.hold(at).then(() => true);
      const collected = stage.collect(late).then(() => false);
      const isHeld = await Promise.race([reached, collected]);
      if (isHeld) {
        const requestId = await deletions.accept("user", { field, value });
        await deletions.run(requestId);
        calls.release();
        await collected;
        await runNow(stage.stores.ledger, deletions, requestId);
        const { ledger, entities, memberships, history } = stage.stores;
        const { entities: ids = [], completedAt } = (await ledger.find(requestId)) ?? {};
        expect(completedAt, `call ${at}`).to.be.a("number");
        for (const port of [entities, memberships, history])
          expect(await port.holds(ids), `call ${at}`).to.equal(false);
        await check(`call ${at}`);
        held += 1;
      }
      await close();
      if (!isHeld) break;
    }
    expect(held).to.be.above(1);
  }

  it("loses nothing of its user and brings nothing back, when the deletion is of the other", () =>
    heldAtEachCall("_uid", "tablet", async (at) => {
      expect(await stage.read("user_id", "ann"), at).to.equal(undefined);
      const read = await stage.read("user_id", "ben");
      expect(read, at).to.include({ city: "Rome", new: 1, newer: 1 }).and.not.have.property("plan");
      expect(await stage.read("_uid", "tablet"), at).to.be.deep.oneOf([undefined, read]);
      expect(await stage.read("email", "family@x.org"), at).to.be.deep.oneOf([undefined, read]);
      await stage.collect([{ _uid: "tablet", email: "family@x.org", back: 1 }]);
      expect(await stage.read("_uid", "tablet"), at)
        .to.include({ back: 1 })
        .and.not.have.property("plan");
    }));

  it("leaves the other user unchanged when the deletion is of its user, who gets nothing old back", () =>
    heldAtEachCall("user_id", "ben", async (at) => {
      const { user_id, _uid, email, plan, segments } = ann;
      for (const [field, value] of [
        ["user_id", "ann"],
        ["_uid", "tablet"],
        ["email", "family@x.org"],
      ] as const) {
        expect(await stage.read(field, value), at).to.deep.equal({ user_id, _uid, email, plan, segments });
      }
      const again = await stage.read("user_id", "ben");
      if (again !== undefined) expect(again, at).to.not.have.property("city");
      await stage.collect([{ _uid: "tablet", more: 1 }]);
      expect(await stage.read("user_id", "ann"), at).to.include({ more: 1, plan: "gold" });
    }));
});
