import { expect } from "chai";
import { withTimeLimit } from "../../src/async/time-limit.js";
import type { ErasureSubject } from "../../src/deletions/ports.js";
import type { Identity } from "../../src/entities/identity.js";
import type { Stores } from "../../src/stores/stores.js";
import { HeldCalls, portThrough } from "../support/held-calls.js";
import { type ErasureStage, erasureStage } from "./erasure-stage.js";

const ann: Identity = { field: "email", value: "ann@example.org" };
const annsId: Identity = { field: "user_id", value: "ann-1" };

describe("a DELETE that is repeated while the keys of the first are overwritten", () => {
  let stage: ErasureStage;
  let subjects: ErasureSubject[];
  /** Runs once, at the first call that `wrap` sends here. */
  let meanwhile: (() => Promise<void>) | undefined;

  async function once(): Promise<void> {
    const work = meanwhile;
    meanwhile = undefined;
    await work?.();
  }

  async function open(wrap: (stores: Stores) => Partial<Stores>): Promise<string> {
    subjects = [];
    const erase = async (subject: ErasureSubject) => {
      subjects.push(subject);
    };
    const crm = { name: "crm", remote: true, erase, verify: async () => true };
    stage = await erasureStage({ more: [crm], wrap });
    await stage.profile([ann, annsId]);
    return stage.erasure.request("user", ann);
  }

  afterEach(() => stage.close());

  /** The remote target's last call names the identity of the repeat and the cut-off that the request has now. */
  async function expectSent(requestId: string, before: number): Promise<void> {
    const kept = await stage.stores.ledger.find(requestId);
    expect(kept?.completedAt).to.be.a("number");
    expect(kept?.cutOff).to.be.greaterThan(before);
    expect(subjects.at(-1)?.cutOff).to.equal(kept?.cutOff);
    expect(subjects.at(-1)?.identities).to.deep.include(ann);
    expect(await stage.stores.entityKeys.read(kept?.entities ?? [])).to.have.property("size", 0);
  }

  const cutOffOf = async (requestId: string) => (await stage.stores.ledger.find(requestId))?.cutOff ?? 0;

  const afterDestroy = ({ entityKeys }: Stores): Partial<Stores> => ({
    entityKeys: {
      ...entityKeys,
      async destroy(ids) {
        await entityKeys.destroy(ids);
        await once();
      },
    },
  });

  it("sends remote targets the identity and the new cut-off", async () => {
    const id = await open(afterDestroy);
    const before = await cutOffOf(id);
    meanwhile = async () => {
      expect(await stage.erasure.request("user", ann)).to.equal(id);
    };
    await stage.erasure.run(id);
    await expectSent(id, before);
  });

  it("sends them to remote targets also when the run died before completion and goes on later", async () => {
    const id = await open(afterDestroy);
    const before = await cutOffOf(id);
    meanwhile = async () => {
      throw new Error("the process died");
    };
    await stage.erasure.run(id);
    expect((await stage.stores.ledger.find(id))?.completedAt).to.equal(undefined);
    expect(await stage.erasure.request("user", ann)).to.equal(id);
    await stage.erasure.run(id);
    await expectSent(id, before);
  });

  it("sends them to remote targets also when the repeat read the request before, and extends it after the keys are overwritten", async () => {
    const calls = new HeldCalls();
    const id = await open((stores) => ({
      ...afterDestroy(stores),
      ledger: portThrough(stores.ledger, calls.around),
    }));
    const before = await cutOffOf(id);
    const reached = calls.hold(0, "extend");
    const again = stage.erasure.request("user", ann);
    await reached;
    meanwhile = async () => {
      calls.release();
      expect(await again).to.equal(id);
    };
    await stage.erasure.run(id);
    await expectSent(id, before);
  });
});

describe("DELETEs of one identity that the store keeps waiting", () => {
  /** Requests the deletion for a caller whose deadline passes after `ms`. */
  const request = (stage: ErasureStage, ms: number) =>
    withTimeLimit(ms, [], (late) => stage.erasure.request("user", ann, late));

  it("A DELETE that became late before it was sent to the ledger is never accepted, nor are those that waited for it", async () => {
    let accepts = 0;
    let release = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const wrap = ({ ledger }: Stores): Partial<Stores> => ({
      ledger: {
        ...ledger,
        async accept(...args) {
          accepts += 1;
          await hold;
          return ledger.accept(...args);
        },
      },
    });
    const stage = await erasureStage({ wrap });
    const asked = Array.from({ length: 3 }, () => request(stage, 200).catch((error: Error) => error.name));
    expect(await Promise.all(asked)).to.deep.equal(["TimeoutError", "TimeoutError", "TimeoutError"]);
    release();
    const id = await stage.erasure.request("user", ann);
    expect((await stage.stores.ledger.open({ limit: 9 })).map(({ requestId }) => requestId)).to.deep.equal([id]);
    expect(accepts).to.equal(2);
    await stage.close();
  });

  it("is not accepted once its caller was told that it took too long, though its profile is found later", async () => {
    const finds = new HeldCalls();
    const calls: string[] = [];
    const wrap = ({ entities, ledger }: Stores): Partial<Stores> => ({
      entities: {
        ...entities,
        find: (...args) => {
          calls.push("find");
          return finds.around(() => entities.find(...args), "find");
        },
      },
      ledger: {
        ...ledger,
        accept: (...args) => {
          calls.push("accept");
          return ledger.accept(...args);
        },
      },
    });
    const stage = await erasureStage({ wrap });
    finds.hold();
    const late = await request(stage, 200).catch((error: Error) => error.name);
    expect(late).to.equal("TimeoutError");
    finds.release();
    // Begins when the one before has ended.
    await stage.erasure.request("user", ann);
    expect(calls.slice(0, 2)).to.deep.equal(["find", "find"]);
    await stage.close();
  });
});
