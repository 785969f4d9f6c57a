import { expect } from "chai";
import { sealedIdentities } from "../../src/deletions/erasure-scope.js";
import type { DownstreamTarget } from "../../src/deletions/ports.js";
import type { Identity } from "../../src/entities/identity.js";
import { noScope } from "../contracts/ledger.contract.js";
import { amount } from "../support/servers.js";
import { until } from "../support/until.js";
import { type ErasureStage, erasureStage } from "./erasure-stage.js";

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

  it("goes on soon after a sweep that was too short for all that is due", async () => {
    await stage.close();
    let pages = 10;
    stage = await erasureStage({
      sweepEveryMs: 3_600_000,
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          // As many as one look reads, all of them completed since.
          async open(asked) {
            const open = await ledger.open(asked);
            if (open[0] === undefined || pages === 0) return open;
            pages -= 1;
            const [found] = open;
            return Array.from({ length: asked.limit }, (_, index) => ({ ...found, requestId: `${pages}-${index}` }));
          },
        },
      }),
    });
    const requestId = await stage.erasure.request("user", person(1));
    stage.erasure.start();
    const isComplete = async () => (await stage.stores.ledger.find(requestId))?.completedAt !== undefined;
    await until("it is complete", isComplete, 60_000);
  });

  it("notes with the data how much of the ledger it has seen, and stops before what is open", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) ids.push(await stage.erasure.request("user", person(index)));
    await stage.stores.ledger.lease(ids[1] as string, "another", 0, Number.MAX_SAFE_INTEGER);
    await stage.erasure.sweep();
    expect(await stage.stores.watermark.read()).to.equal(1);
    await stage.stores.ledger.release(ids[1] as string, "another");
    await stage.erasure.sweep();
    expect(await stage.stores.watermark.read()).to.equal(3);
  });
});

describe("the sweeper, while a remote target accepts calls and never answers them,", () => {
  const crm = remotePlace("crm");
  const erp = remotePlace("erp");
  let stage: ErasureStage;

  beforeEach(async () => {
    stage = await erasureStage({ more: [crm.target, erp.target] });
  });
  afterEach(async () => {
    for (const place of [crm, erp]) place.reset();
    await stage.close();
  });

  it("completes a request that this target has no part in", async () => {
    crm.hang();
    for (let index = 0; index < MANY; index += 1) await stage.erasure.request("user", person(index));
    stage.erasure.start();
    await until("the target is called", () => crm.calls.length > 0);
    const requestId = await acceptFor(["membership-index", "history-archive"]);
    await until("it is complete", async () => (await stage.stores.ledger.find(requestId))?.completedAt !== undefined);
    expect(await stage.stores.ledger.countOpen()).to.equal(MANY);
  });

  it("completes a request that another remote target has a part in", async () => {
    crm.hang();
    for (let index = 0; index < MANY; index += 1) await stage.erasure.request("user", person(index));
    stage.erasure.start();
    await until("the target is called", () => crm.calls.length > 0);
    const requestId = await acceptFor(["membership-index", "history-archive", "erp"]);
    await until("it is complete", async () => (await stage.stores.ledger.find(requestId))?.completedAt !== undefined);
    expect(await stage.stores.ledger.countOpen()).to.equal(MANY);
  });

  it("takes every other request as far as that target, whose calls under way stay few", async () => {
    erp.hang();
    const profiles: string[] = [];
    for (let index = 0; index < MANY; index += 1) {
      profiles.push(await stage.profile([person(index)]));
      await stage.erasure.request("user", person(index));
    }
    stage.erasure.start();
    await until("the other target has erased all", () => crm.calls.length === MANY);
    await until("the hanging one is called", () => erp.calls.length > 0);
    const { entities, memberships, history } = stage.stores;
    for (const port of [entities, memberships, history]) expect(await port.holds(profiles)).to.equal(false);
    expect(erp.calls.length).to.be.below(MANY);
    erp.reset();
    await until("all are complete", async () => (await stage.stores.ledger.countOpen()) === 0);
  });

  /** A request as it was accepted when only these targets were configured. */
  async function acceptFor(targets: readonly string[]): Promise<string> {
    const requestId = await stage.erasure.request("user", { field: "user_id", value: "another" });
    const deletion = await stage.stores.ledger.find(requestId);
    if (deletion === undefined) throw new Error("There is no such request");
    await stage.stores.ledger.complete(requestId, deletion.revision, 1);
    const { entityKeys } = stage.stores;
    const lists = sealedIdentities(entityKeys);
    const { sealerKey, ...sealed } = await lists.seal([{ field: "user_id", value: "another" }]);
    const changed = { requestId: `x${requestId.slice(1)}`, revision: 1, targets };
    await stage.stores.ledger.accept({ ...deletion, ...sealed, ...changed }, { ...noScope, sealerKey });
    return changed.requestId;
  }
});

/** More requests than runs are under way at once. */
const MANY = 30;

/** A remote target that a test can let hang; `calls` are the request ids of `erase`. */
function remotePlace(name: string) {
  const calls: string[] = [];
  let goOn: (() => void) | undefined;
  let answer: Promise<void> = Promise.resolve();
  const target: DownstreamTarget = {
    name,
    remote: true,
    async erase({ requestId }) {
      calls.push(requestId);
      await answer;
    },
    verify: async () => true,
  };
  return {
    target,
    calls,
    hang() {
      answer = new Promise((resolve) => {
        goOn = resolve;
      });
    },
    /** It answers again, also the calls under way. */
    reset() {
      goOn?.();
      answer = Promise.resolve();
      calls.length = 0;
    },
  };
}
