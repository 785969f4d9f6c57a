import { expect } from "chai";
import { noObserver } from "../../src/deletions/deletion-observer.js";
import { type Erasure, openErasure } from "../../src/deletions/erasure.js";
import { downstreamTargets } from "../../src/downstream/index.js";
import { sealing } from "../../src/entities/sealed.js";
import { noFailpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import { type EntityStage, entityStage, LONG_AGO } from "../support/entity-stage.js";
import { watchedPorts } from "../support/port-calls.js";
import { amount } from "../support/servers.js";

/** Holds a writer before one of its port calls, while something else happens. */
class Pause {
  calls = 0;
  at = Number.NaN;
  meanwhile: () => Promise<void> = async () => {};

  before = async () => {
    this.calls += 1;
    if (this.calls === this.at + 1) await this.meanwhile();
  };
}

const FUTURE = 300_000;
const batch = (time: number) => [
  { _uid: "known", at: time, said: 1, segments: ["r"] },
  { _uid: "new", at: time + 1, said: 2, segments: ["u"] },
  { _uid: "newer", at: time + 2, said: 3, segments: ["v"] },
  { _uid: ["known", "other"], at: time + 3, said: 4 },
  { _uid: ["new", "newer"], at: time + 4, said: 5, segments: { add: ["s"] } },
];
const everybody = ["known", "other", "new", "newer"];
/** Over servers each case is held at some of the calls, and another at others. */
const EVERY = amount(1, 16);

describe("a writer that is held up while somebody is erased", function () {
  this.timeout(120_000);
  let cases = 0;
  let stage: EntityStage;
  let pause: Pause;
  let erasure: Erasure;

  async function open(): Promise<void> {
    pause = new Pause();
    stage = await entityStage((stores) => watchedPorts(stores, pause.before));
    const { stores } = stage;
    erasure = openErasure({
      ...stores,
      sealing: sealing(stores.entityKeys),
      targets: downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint }),
      hashIdentity: stage.hashIdentity,
      clock: Date.now,
      arrivals: stage.arrivals,
      log: openLog("silent"),
      observer: noObserver,
      failpoint: noFailpoint,
      keepMs: undefined,
      sweepEveryMs: 1_000,
      deadlineMs: 60_000,
    });
    await stage.collect([{ _uid: "known", at: LONG_AGO, before: 1, segments: ["s"] }]);
    await stage.collect([{ _uid: "other", at: LONG_AGO, before: 2, segments: ["t"] }]);
    pause.calls = 0;
  }

  async function close(): Promise<void> {
    await erasure.stop();
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
        let calls = first + 1;
        for (let at = first; at < calls; at += EVERY) {
          await open();
          let requestId = "";
          pause.at = at;
          pause.meanwhile = async () => {
            pause.at = Number.NaN;
            requestId = await erasure.request("user", { field: "_uid", value: erased });
            if (complete) await erasure.run(requestId);
          };
          await stage.collect(batch(time()));
          calls = pause.calls;
          if (requestId === "") break;
          if (complete) await erasure.sweeper.sweep();
          else await erasure.run(requestId);
          const profiles = await Promise.all(everybody.map((value) => stage.read("_uid", value)));
          const erasedProfile = profiles[everybody.indexOf(erased)];
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
        expect(calls).to.be.greaterThan(4);
        if (erasure !== undefined) await close().catch(() => {});
      });
    }
  }
});
