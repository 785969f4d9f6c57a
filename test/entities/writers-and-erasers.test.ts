import { expect } from "chai";
import { deletionsOver, runNow } from "../deletions/erasure-stage.js";
import { type EntityStage, entityStage, LONG_AGO, PROFILE_PORTS } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";
import { amount } from "../support/servers.js";

/** Over servers each case is held at some of the calls, and another at others. */
const EVERY = amount(1, 16);

interface HeldWriter {
  /** Messages that are stored before. */
  readonly before: readonly object[];
  /** Messages of the writer. */
  readonly batch: readonly object[];
  readonly erased: { readonly field: string; readonly value: string };
  /** Whether the deletion completes while the writer is held; otherwise it is only accepted. */
  readonly completes: boolean;
  /** The first call at which the writer is held. */
  readonly first: number;
}

/**
 * Holds the writer at each of its calls while a deletion is accepted, and lets it continue. The deletion completes and
 * leaves nothing of its entities; `check` looks at the others.
 */
async function heldAtEachCall(
  { before, batch, erased, completes, first }: HeldWriter,
  check: (stage: EntityStage, at: string) => Promise<void>,
): Promise<void> {
  let at = first % EVERY;
  for (; ; at += EVERY) {
    const calls = new HeldCalls();
    const stage = await entityStage((stores) => portsThrough(stores, PROFILE_PORTS, calls.around));
    const deletions = deletionsOver(stage.stores, { clock: Date.now, arrivalClock: stage.arrivalClock });
    const { ledger, entities, memberships, history } = stage.stores;
    try {
      for (const message of before) await stage.collect([message]);
      const reached = calls.hold(at).then(() => true);
      const collected = stage.collect(batch).then(() => false);
      if (!(await Promise.race([reached, collected]))) break;
      const requestId = await deletions.accept("user", erased);
      if (completes) await deletions.run(requestId);
      calls.release();
      await collected;
      await runNow(ledger, deletions, requestId);
      const { entities: ids = [], completedAt } = (await ledger.find(requestId)) ?? {};
      expect(completedAt, `call ${at}`).to.be.a("number");
      for (const port of [entities, memberships, history]) expect(await port.holds(ids), `call ${at}`).to.equal(false);
      await check(stage, `call ${at}`);
    } finally {
      await deletions.stop();
      await stage.close();
    }
  }
  expect(at).to.be.above(3);
}

describe("a writer that is held up while a profile is erased", function () {
  this.timeout(120_000);
  let first = 0;
  const before = [
    { _uid: "known", at: LONG_AGO, before: 1, segments: ["s"] },
    { _uid: "other", at: LONG_AGO, before: 2, segments: ["t"] },
  ];
  const batchAt = (time: number) => [
    { _uid: "known", at: time, said: 1, segments: ["r"] },
    { _uid: "new", at: time + 1, said: 2, segments: ["u"] },
    { _uid: "newer", at: time + 2, said: 3, segments: ["v"] },
    { _uid: ["known", "other"], at: time + 3, said: 4 },
    { _uid: ["new", "newer"], at: time + 4, said: 5, segments: { add: ["s"] } },
  ];

  for (const value of ["known", "other", "new", "newer"]) {
    for (const isNew of [false, true]) {
      for (const completes of [false, true]) {
        first += 3;
        const held = { before, erased: { field: "_uid", value }, completes, first };
        const what = `${isNew ? "a newer event brings nothing old" : "no older event comes"} back`;
        it(`${what} to ${value}, whose deletion ${completes ? "completes" : "is accepted"} in between`, () =>
          heldAtEachCall(
            { ...held, batch: batchAt(isNew ? Date.now() + 300_000 : LONG_AGO + 1) },
            async (stage, at) => {
              const profile = await stage.read("_uid", value);
              if (!isNew) expect(profile, at).to.equal(undefined);
              const [old] = before.filter(({ _uid }) => _uid === value);
              if (old !== undefined) expect(profile?.before, at).to.not.equal(old.before);
            },
          ));
      }
    }
  }
});

describe("P36: a writer of a message with identities of another user, held up while a deletion completes,", function () {
  this.timeout(120_000);
  const ann = { user_id: "ann", _uid: "tablet", email: "family@x.org", plan: "gold", segments: ["r"] };
  const before = [ann, { user_id: "ben", city: "Rome", segments: ["r"] }];
  /** Names the device and the e-mail of the first user, which are left out. */
  const batch = [
    { user_id: "ben", _uid: "tablet", new: 1, segments: { add: ["s"] } },
    { user_id: "ben", _uid: "phone", email: "family@x.org", newer: 1 },
  ];
  const held = { before, batch, completes: true, first: 0 };

  it("loses nothing of its user and brings nothing back, when the deletion is of the other", () =>
    heldAtEachCall({ ...held, erased: { field: "_uid", value: "tablet" } }, async (stage, at) => {
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
    heldAtEachCall({ ...held, erased: { field: "user_id", value: "ben" } }, async (stage, at) => {
      for (const field of ["user_id", "_uid", "email"] as const)
        expect(await stage.read(field, ann[field]), at).to.deep.equal(ann);
      const again = await stage.read("user_id", "ben");
      if (again !== undefined) expect(again, at).to.not.have.property("city");
      await stage.collect([{ _uid: "tablet", more: 1 }]);
      expect(await stage.read("user_id", "ann"), at).to.include({ more: 1, plan: "gold" });
    }));
});
