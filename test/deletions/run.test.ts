import { expect } from "chai";
import { LEASE_MS } from "../../src/deletions/deletion.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { HeldCalls, portThrough } from "../support/held-calls.js";
import { holdersOf } from "../support/holders.js";
import { until } from "../support/until.js";
import { type ErasureStage, erasureStage, noObserver, type StageOptions } from "./erasure-stage.js";
import { place } from "./place.js";

const ann: Identity = { field: "email", value: "ann@example.org" };
const annsId: Identity = { field: "user_id", value: "ann-1" };

describe("the run of a deletion", () => {
  let time = 1_800_000_000_000;

  const open = (options?: StageOptions) => erasureStage({ clock: () => time, ...options });

  const kept = async (at: ErasureStage, requestId: string) => {
    const deletion = await at.stores.ledger.find(requestId);
    if (deletion === undefined) throw new Error("There is no such request");
    return deletion;
  };

  async function expectGone(at: ErasureStage, ids: readonly string[]): Promise<void> {
    expect(await holdersOf(at.stores, ids)).to.deep.equal([]);
  }

  it("is counted once if two runs complete the request at the same time", async () => {
    const calls = new HeldCalls();
    let completed = 0;
    const at = await open({
      wrap: ({ ledger }) => ({ ledger: portThrough(ledger, calls.around) }),
      observer: { ...noObserver, completed: () => (completed += 1) },
    });
    await at.profile([ann]);
    const id = await at.deletions.accept("user", ann);
    const reached = calls.hold(0, "complete");
    const first = at.run(id);
    await reached;
    time += LEASE_MS + 1;
    await at.another.run(id);
    calls.release();
    await first;
    expect((await kept(at, id)).completedAt).to.be.a("number");
    expect(completed).to.equal(1);
  });

  it("sends a remote target every identity as written, and leaves neither data of the entity, nor its key, nor these", async () => {
    const crm = place("crm");
    const at = await open({ more: [crm.target] });
    const entity = await at.profile([ann, annsId]);
    const id = await at.deletions.accept("user", ann);
    expect((await kept(at, id)).encryptedIdentities).to.not.equal(undefined);
    await at.run(id);
    const deletion = await kept(at, id);
    expect(deletion.completedAt).to.equal(time);
    expect(deletion.encryptedIdentities).to.equal(undefined);
    expect(crm.erased).to.have.length(1);
    expect(crm.erased[0]).to.deep.include({ requestId: id, table: "user" });
    expect(crm.erased[0]?.identities).to.have.deep.members([ann, annsId]);
    await expectGone(at, deletion.entities);
    expect((await at.stores.entities.find([at.hashIdentity("user", ann)])).owners).to.deep.equal(new Map());
    expect((await at.stores.entities.load([entity])).profiles).to.deep.equal(new Map());
  });

  it("erases nothing for a request that is completed, unknown, or leased by another process", async () => {
    const crm = place("crm");
    const at = await open({ more: [crm.target] });
    await at.run("unknown-1");
    const id = await at.deletions.accept("user", ann);
    await at.stores.ledger.lease(id, "another", time, time + 1000);
    await at.run(id);
    expect(crm.erased).to.have.length(0);
    time += 1000;
    await at.run(id);
    await at.run(id);
    expect(crm.erased).to.have.length(1);
  });

  it("renews its lease for as long as a target takes, so that no other process runs the request", async () => {
    const slow = place("slow");
    slow.hang();
    let renewals = 0;
    const at = await open({
      more: [slow.target],
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          async renew(...args) {
            await ledger.renew(...args);
            renewals += 1;
          },
        },
      }),
    });
    const id = await at.deletions.accept("user", ann);
    const first = at.run(id);
    await until("the target is called", () => slow.calls.length === 1);
    for (let turn = 1; turn <= 2; turn += 1) {
      time += 5000;
      const before = renewals;
      await until("the request is kept for longer", () => renewals > before);
    }
    await at.another.run(id);
    expect(slow.calls).to.have.length(1);
    slow.answer();
    await first;
    expect((await kept(at, id)).completedAt).to.equal(time);
  });

  it("begins soon after the clock was set back during a lease or a wait", async () => {
    const crm = place("crm");
    crm.isUnreachable = true;
    const at = await open({ more: [crm.target] });
    const waiting = await at.deletions.accept("user", ann);
    await at.run(waiting);
    const held = await at.deletions.accept("user", { field: "user_id", value: "bob" });
    await at.stores.ledger.lease(held, "another", time, time + 8000);
    crm.isUnreachable = false;
    await at.runDue();
    expect(await at.stores.ledger.count("open")).to.equal(2);
    time -= 7_200_000;
    await at.runDue();
    expect(await at.stores.ledger.count("open")).to.equal(0);
  });

  it("is retried with growing pauses, of at most 15 min for a remote target and 30 s for our own", async () => {
    for (const [remote, longest] of [
      [true, 900_000],
      [false, 30_000],
    ] as const) {
      const crm = place("crm", remote);
      crm.isUnreachable = true;
      const at = await open({ more: [crm.target] });
      const id = await at.deletions.accept("user", ann);
      let last = 0;
      for (let attempt = 1; attempt <= 14; attempt += 1) {
        await at.run(id);
        const { attempts, notBefore, done } = await kept(at, id);
        expect(attempts).to.equal(attempt);
        expect(done).to.deep.equal(["profile", ...ownTargets]);
        expect(notBefore - time).to.be.within(Math.max(1, last), longest);
        last = notBefore - time;
      }
      expect(last).to.equal(longest);
      expect(await at.stores.ledger.count("stuck")).to.equal(1);
      crm.isUnreachable = false;
      await at.run(id);
      expect((await kept(at, id)).completedAt).to.equal(time);
    }
  });

  it("is retried with growing pauses and gets stuck if a target verifies only at first", async () => {
    const [crm, erp] = [place("crm"), place("erp")];
    let looks = 0;
    const verify = async () => {
      looks += 1;
      return looks % 2 === 1;
    };
    const at = await open({ more: [{ ...crm.target, verify }, erp.target] });
    const id = await at.deletions.accept("user", ann);
    let last = 0;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await at.run(id);
      const { attempts, problem, notBefore } = await kept(at, id);
      expect({ attempts, problem }).to.deep.equal({ attempts: attempt, problem: "crm is no longer clean" });
      expect(notBefore - time).to.be.greaterThan(last);
      last = notBefore - time;
    }
    expect(await at.stores.ledger.count("stuck")).to.equal(1);
  });

  it("verifies every remote target again after it erased at another one again", async () => {
    const [crm, erp] = [place("crm"), place("erp")];
    let looks = 0;
    const verify = async () => {
      looks += 1;
      return looks !== 2;
    };
    const at = await open({ more: [crm.target, { ...erp.target, verify }] });
    const id = await at.deletions.accept("user", ann);
    await at.run(id);
    expect((await kept(at, id)).problem).to.equal("erp is no longer clean");
    expect(crm.verified).to.have.length(2);
    await at.run(id);
    expect((await kept(at, id)).completedAt).to.equal(time);
    expect(crm.verified).to.have.length(3);
  });

  it("that dies after it destroyed the identities leaves the time of the verification of a remote target", async () => {
    const calls = new HeldCalls();
    const crm = place("crm");
    let looks = 0;
    const verify = async () => {
      looks += 1;
      return true;
    };
    const at = await open({
      more: [{ ...crm.target, verify }],
      wrap: ({ ledger }) => ({ ledger: portThrough(ledger, calls.around) }),
    });
    const id = await at.deletions.accept("user", ann);
    const verifiedAt = time;
    const reached = calls.hold(0, "complete");
    const dying = at.deletions.run(id);
    await reached;
    calls.die();
    await dying;
    calls.revive();
    time += LEASE_MS + 1;
    await at.another.run(id);
    const { completedAt, times } = await kept(at, id);
    expect(completedAt).to.equal(time);
    expect(times.crm?.verifiedAt).to.equal(verifiedAt);
    expect(looks).to.equal(2);
  });

  it("makes the requests due that wait for a remote target, once the target works again", async () => {
    const crm = place("crm");
    const at = await open({ more: [crm.target] });
    crm.isUnreachable = true;
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.push(await at.deletions.accept("user", { field: "user_id", value: `person-${index}` }));
    }
    for (const id of ids) for (let attempt = 0; attempt < 12; attempt += 1) await at.run(id);
    crm.isUnreachable = false;
    await at.runDue();
    expect(await at.stores.ledger.count("open")).to.equal(5);
    await at.run(ids[3] as string);
    await at.runDue();
    expect(await at.stores.ledger.count("open")).to.equal(0);
  });

  it("calls a remote target for one request of a person at a time, in order of acceptance, each with its own cut-off", async () => {
    const crm = place("crm");
    const at = await open({ more: [crm.target] });
    await at.profile([ann, annsId]);
    const first = await at.deletions.accept("user", ann);
    time += 1000;
    const second = await at.deletions.accept("user", annsId);
    const third = await at.deletions.accept("user", annsId);
    crm.isClean = false;
    for (const id of [third, second, first]) await at.run(id);
    // They call no target while they wait, so the target that fails is no failure of theirs.
    const waits = { completedAt: undefined, attempts: 0, done: [], problem: "an earlier request is open" };
    for (const id of [second, third]) expect(await kept(at, id)).to.deep.include(waits);
    expect(crm.erased.map(({ requestId }) => requestId)).to.deep.equal([first]);
    crm.isClean = true;
    await at.run(third);
    await at.run(first);
    expect(await at.stores.ledger.due(time, undefined, 10), "the next one is due at once").to.deep.equal([second]);
    for (const id of [second, third]) await at.run(id);
    for (const id of [first, second, third]) expect((await kept(at, id)).completedAt).to.equal(time);
    const sent = crm.erased.filter(({ requestId }) => requestId === second);
    expect(sent[0]).to.deep.include({ identities: [annsId], cutOff: (await kept(at, second)).acceptedAt });
  });

  it("makes the next request over each of its identities due, once it is complete", async () => {
    const at = await open();
    await at.profile([ann, annsId]);
    const first = await at.deletions.accept("user", ann);
    const next: string[] = [];
    for (const identity of [ann, annsId]) {
      await at.profile([identity]);
      next.push(await at.deletions.accept("user", identity));
    }
    for (const id of next) await at.run(id);
    await at.run(first);
    expect(await at.stores.ledger.due(time, undefined, 10)).to.have.members(next);
  });

  it("is due at once if the earlier request is completed while it looks for it", async () => {
    const at = await open();
    await at.profile([ann]);
    const first = await at.deletions.accept("user", ann);
    const second = await at.deletions.accept("user", ann);
    const { ledger } = at.stores;
    const { release } = ledger;
    Object.assign(ledger, {
      async release(...call: Parameters<typeof release>) {
        Object.assign(ledger, { release });
        await at.run(first);
        await release(...call);
      },
    });
    await at.run(second);
    expect((await kept(at, first)).completedAt).to.equal(time);
    expect(await ledger.due(time, undefined, 10)).to.deep.equal([second]);
  });

  it("waits for no later request", async () => {
    const at = await open();
    const first = await at.deletions.accept("user", ann);
    await at.profile([ann]);
    await at.deletions.accept("user", ann);
    await at.run(first);
    expect((await kept(at, first)).completedAt).to.equal(time);
  });

  it("looks again for an earlier request after growing pauses, of at most 1 s at first and 15 s later", async () => {
    const at = await open();
    await at.profile([ann]);
    await at.deletions.accept("user", ann);
    const id = await at.deletions.accept("user", ann);
    const pauses: number[] = [];
    for (let look = 0; look < 12; look += 1) {
      await at.deletions.run(id);
      const { notBefore, attempts } = await kept(at, id);
      expect(attempts).to.equal(0);
      pauses.push(notBefore - time);
      time = notBefore;
    }
    expect(pauses[0]).to.be.within(1, 1_000);
    expect(pauses).to.deep.equal([...pauses].sort((a, b) => a - b));
    expect(pauses.at(-1)).to.equal(15_000);
  });

  it("is not completed before an earlier request has erased its profile; repeats do not wait for each other", async () => {
    const at = await open();
    const accept = (count: number) =>
      Promise.all(Array.from({ length: count }, () => at.deletions.accept("user", ann)));
    const isComplete = async (id: string) => (await kept(at, id)).completedAt !== undefined;
    const was = await at.profile([ann]);
    const [first = "", ...repeats] = await accept(3);
    const back = await at.profile([ann]);
    const [again = "", last = ""] = await accept(2);
    for (const id of [last, again, ...repeats]) {
      await at.run(id);
      expect(await isComplete(id)).to.equal(false);
    }
    await at.run(first);
    await expectGone(at, [was]);
    await at.run(last);
    expect(await isComplete(last), "the profile that came back is left").to.equal(false);
    await at.run(again);
    await expectGone(at, [back]);
    for (const id of [last, ...repeats.reverse()]) {
      await at.run(id);
      expect(await isComplete(id)).to.equal(true);
    }
  });

  const doubles = 200;
  it(`has the same result as one run if two of them are concurrent, ${doubles} times (P8)`, async () => {
    let taken = 0;
    let onTaken = () => {};
    let onBothTaken = () => {};
    let bothTaken = Promise.resolve();
    const at = await open({
      failpoint: (name) => {
        if (name !== "deletion-leased") return;
        taken += 1;
        onTaken();
        if (taken % 2 === 0) onBothTaken();
      },
      // Neither erases before both have leased the request.
      wrap: ({ entities }) => ({
        entities: { ...entities, erase: (ids) => bothTaken.then(() => entities.erase(ids)) },
      }),
    });
    const { ledger } = at.stores;
    let runs = 0;
    for (let index = 0; index < doubles; index += 1) {
      const person = { field: "user_id", value: `person-${index}` };
      const entity = await at.profile([person]);
      const id = await at.deletions.accept("user", person);
      // The lease of the first run has expired, so the second run begins next to it.
      const begun = new Promise<void>((resolve) => {
        onTaken = resolve;
      });
      bothTaken = new Promise((resolve) => {
        onBothTaken = resolve;
      });
      const first = at.run(id);
      await begun;
      time += 30_001;
      await Promise.all([first, at.another.run(id)]);
      runs += 2;
      const deletion = await kept(at, id);
      expect(deletion.completedAt).to.be.a("number");
      await expectGone(at, [entity]);
    }
    expect(await ledger.count("open")).to.equal(0);
    expect(taken).to.equal(runs);
  }).timeout(120_000);
});
