import { expect } from "chai";
import { type Deletions, deletionsOver, runNow } from "../deletions/erasure-stage.js";
import { type EntityStage, entityStage, LONG_AGO, PROFILE_PORTS } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";
import { amount } from "../support/servers.js";

const FUTURE = 300_000;
const batch = (time: number) => [
  { _uid: "known", at: time, said: 1, segments: ["r"] },
  { _uid: "new", at: time + 1, said: 2, segments: ["u"] },
  { _uid: "newer", at: time + 2, said: 3, segments: ["v"] },
  { _uid: ["known", "other"], at: time + 3, said: 4 },
  { _uid: ["new", "newer"], at: time + 4, said: 5, segments: { add: ["s"] } },
];
const uids = ["known", "other", "new", "newer"];
/** Over servers each case is held at some of the calls, and another at others. */
const EVERY = amount(1, 16);

describe("a writer that is held up while a profile is erased", function () {
  this.timeout(120_000);
  let cases = 0;
  let stage: EntityStage;
  let calls: HeldCalls;
  let deletions: Deletions;

  async function open(): Promise<void> {
    calls = new HeldCalls();
    stage = await entityStage((stores) => portsThrough(stores, PROFILE_PORTS, calls.around));
    deletions = deletionsOver(stage.stores, { clock: Date.now, arrivalClock: stage.arrivalClock });
    await stage.collect([{ _uid: "known", at: LONG_AGO, before: 1, segments: ["s"] }]);
    await stage.collect([{ _uid: "other", at: LONG_AGO, before: 2, segments: ["t"] }]);
  }

  async function close(): Promise<void> {
    await deletions.stop();
    await stage.close();
  }

  /** Everything that is kept of the entities that a deletion names. */
  async function leftOf(requestId: string): Promise<boolean[]> {
    const { ledger, entities, memberships, history } = stage.stores;
    const ids = (await ledger.find(requestId))?.entities ?? [];
    return Promise.all([entities.holds(ids), memberships.holds(ids), history.holds(ids)]);
  }

  for (const erased of ["known", "other", "new", "newer"]) {
    for (const { what, time, complete } of [
      { what: "nothing of what it writes comes back", time: () => LONG_AGO + 1, complete: false },
      { what: "nothing of it is left when the erasure completes in between", time: () => LONG_AGO + 1, complete: true },
      { what: "what is newer brings nothing old back", time: () => Date.now() + FUTURE, complete: false },
      {
        what: "what is newer brings nothing old back after completion",
        time: () => Date.now() + FUTURE,
        complete: true,
      },
    ]) {
      const first = (cases++ * 3) % EVERY;
      it(`${erased}: ${what}, wherever it is held`, async () => {
        const isNew = time() > Date.now();
        let length = first + 1;
        for (let at = first; at < length; at += EVERY) {
          await open();
          const earlier = calls.count;
          const reached = calls.hold(at).then(() => true);
          const collected = stage.collect(batch(time())).then(() => false);
          if (!(await Promise.race([reached, collected]))) break;
          const requestId = await deletions.accept("user", { field: "_uid", value: erased });
          if (complete) await deletions.run(requestId);
          calls.release();
          await collected;
          length = calls.count - earlier;
          await runNow(stage.stores.ledger, deletions, requestId);
          const profiles = await Promise.all(uids.map((value) => stage.read("_uid", value)));
          const erasedProfile = profiles[uids.indexOf(erased)];
          const known = erased === "known" || erased === "other";
          if (!isNew) expect(erasedProfile, `call ${at}`).to.equal(undefined);
          if (known) {
            const own = profiles[erased === "known" ? 0 : 1];
            expect(own?.before, `call ${at}`).to.not.equal(erased === "known" ? 1 : 2);
          }
          expect(await leftOf(requestId), `call ${at}`).to.deep.equal([false, false, false]);
          expect((await stage.stores.ledger.find(requestId))?.completedAt, `call ${at}`).to.be.a("number");
          await close();
        }
        expect(length).to.be.at.least(4);
        if (deletions !== undefined) await close().catch(() => {});
      });
    }
  }
});
