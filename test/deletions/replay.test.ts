import { expect } from "chai";
import type { DeletionSubject } from "../../src/deletions/ports.js";
import { ERASED } from "../../src/deletions/ports.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import { ServiceError } from "../../src/errors.js";
import { erasureStage } from "./erasure-stage.js";
import { place } from "./place.js";

const person = (index: number): Identity => ({ field: "user_id", value: `person-${index}` });

describe("P25: the replay of the ledger over entity data", () => {
  const REQUESTS = 220;
  it("erases and verifies each completed or open request at our own stores, and calls no remote target", async () => {
    const own = place("cache", false);
    const crm = place("crm", true);
    const at = await erasureStage({ more: [own.target, crm.target] });
    const expected: DeletionSubject[] = [];
    for (let index = 0; index < REQUESTS; index += 1) {
      if (index % 10 === 0) await at.profile([person(index)]);
      const requestId = await at.deletions.accept("user", person(index));
      if (index % 2 === 0) await at.run(requestId);
      const deletion = await at.stores.ledger.find(requestId);
      if (deletion === undefined) throw new Error("There is no such request");
      const { acceptedAt: cutOff, entities, hashes } = deletion;
      const ids = [...entities, requestId];
      expected.push({ requestId, table: "user", cutOff, entities: ids, hashes, identities: [], left: {} });
    }
    for (const calls of [own.erased, own.verified, crm.erased]) calls.length = 0;
    await at.deletions.replay();
    expect(byRequest(own.erased)).to.deep.equal(byRequest(expected));
    expect(byRequest(own.verified)).to.deep.equal(byRequest([...expected, ...expected]));
    expect(crm.erased).to.deep.equal([]);
  }).timeout(60_000);

  it("does not repeat requests that the data already includes", async () => {
    const own = place("cache", false);
    const at = await erasureStage({ more: [own.target] });
    await at.run(await at.deletions.accept("user", person(1)));
    for (const calls of [2, 2]) {
      await at.deletions.replay();
      expect(own.erased).to.have.length(calls);
    }
  });

  it("is rejected and repeated while a target cannot verify a completed request", async () => {
    const own = place("cache", false);
    const at = await erasureStage({ more: [own.target] });
    await at.run(await at.deletions.accept("user", person(1)));
    own.isClean = false;
    expect(await messageOf(at.deletions.replay())).to.equal("cache is not clean");
    expect(await at.stores.facts.number(ERASED)).to.equal(0);
    own.isClean = true;
    await at.deletions.replay();
    expect(await at.stores.facts.number(ERASED)).to.equal(1);
  });

  it("leaves an open request that a target cannot verify to its run", async () => {
    const own = place("cache", false);
    const at = await erasureStage({ more: [own.target] });
    await at.deletions.accept("user", person(1));
    own.isClean = false;
    await at.deletions.replay();
    expect(own.erased).to.have.length(1);
    expect(await at.stores.facts.number(ERASED)).to.equal(0);
  });

  it("is rejected with the error of an unreachable store, so that the start waits for it", async () => {
    const unreachable = new ServiceError("unavailable", "The store is unreachable");
    const at = await erasureStage({
      wrap: ({ history }) => ({ history: { ...history, holds: () => Promise.reject(unreachable) } }),
    });
    await at.deletions.accept("user", person(1));
    expect(await at.deletions.replay().catch((error: unknown) => error)).to.equal(unreachable);
  });
});

function byRequest(subjects: readonly DeletionSubject[]): DeletionSubject[] {
  return [...subjects].sort((a, b) => (a.requestId < b.requestId ? -1 : 1));
}

async function messageOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error) => error.message,
  );
}
