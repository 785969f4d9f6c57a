import { expect } from "chai";
import { sweepLeftovers } from "../../src/deletions/sweep-leftovers.js";
import type { Identity } from "../../src/entities/identity.js";
import { type ErasureStage, erasureStage } from "../support/erasure-stage.js";
import { amount } from "../support/servers.js";
import { until } from "../support/until.js";

const person = (index: number): Identity => ({ field: "user_id", value: `person-${index}` });

describe("the sweeper", () => {
  let stage: ErasureStage;

  beforeEach(async () => {
    stage = await erasureStage();
  });
  afterEach(() => stage.close());

  it("finds and runs every open request, without any hint", async () => {
    for (let index = 0; index < amount(250, 25); index += 1) await stage.erasure.request("user", person(index));
    stage.erasure.start();
    await until("all are complete", async () => (await stage.stores.ledger.countOpen()) === 0);
  });

  it("notes with the data how much of the ledger it has seen, and stops before what is open", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) ids.push(await stage.erasure.request("user", person(index)));
    await stage.stores.ledger.claim(ids[1] as string, "another", 0, Number.MAX_SAFE_INTEGER);
    await stage.erasure.sweeper.sweep();
    expect(await stage.stores.watermark.read()).to.equal(1);
    await stage.stores.ledger.release(ids[1] as string, "another");
    await stage.erasure.sweeper.sweep();
    expect(await stage.stores.watermark.read()).to.equal(3);
  });

  it("removes what was written under an erased id afterwards", async () => {
    const entity = await stage.profile([person(1)]);
    const stranger = await stage.profile([person(2)]);
    await stage.erasure.request("user", person(1));
    await stage.erasure.sweeper.sweep();
    const { history, memberships } = stage.stores;
    const target = (name: string, holds: boolean) => {
      const erased: string[][] = [];
      return {
        erased,
        target: {
          name,
          remote: false,
          erase: async (subject: { entities: readonly string[] }) => void erased.push([...subject.entities]),
          verify: async () => !holds,
        },
      };
    };
    const dirty = target("dirty", true);
    const clean = target("clean", false);
    const next = await sweepLeftovers({ ...stage.stores, targets: [dirty.target, clean.target] }, 0);
    expect(next).to.equal(0);
    expect(dirty.erased).to.deep.equal([[entity]]);
    expect(clean.erased).to.deep.equal([]);
    expect(await history.holds([stranger])).to.equal(true);
    expect(await memberships.holds([stranger])).to.equal(true);
  });
});
