import { expect } from "chai";
import type { Ledger } from "../../../../src/deletions/ports.js";
import { mongoLedger } from "../../../../src/stores/mongodb/deletions/ledger.js";
import { keyWrapping } from "../../../../src/stores/mongodb/profiles/entity-keys.js";
import { ledgerParts } from "../../../../src/stores/mongodb/profiles/import-profiles.js";
import { type Transact, transactions } from "../../../../src/stores/mongodb/transaction.js";
import { ledgerContract, noScope, someDeletion } from "../../../contracts/ledger.contract.js";
import { suppressionContract } from "../../../contracts/suppression.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine, type TestEngine } from "../engine.js";

onServers(["mongodb"], "the ledger on MongoDB", () => {
  let engine: TestEngine;
  let one: Ledger;
  let two: Ledger;
  let three: Ledger;
  before(async () => {
    engine = await openTestEngine();
    one = engine.stores.ledger;
    two = (await engine.another()).ledger;
    three = (await engine.another()).ledger;
  });
  after(() => engine.close());
  const open = async () => {
    const { ledger, suppression, entities } = engine.stores;
    const erased = engine.client.db(`${engine.name}_ledger`).collection("erased_identities");
    return { ledger, suppression, entities, countErased: () => erased.countDocuments(), close: () => engine.empty() };
  };
  /** Another opening of the ledger, with the numbers of its transactions and of their runs. */
  const counting = (deadlineMs = 10_000) => {
    const counts = { transactions: 0, runs: 0 };
    const transact: Transact = (work) => {
      counts.transactions += 1;
      return transactions(
        engine.client,
        10_000,
      )((session) => {
        counts.runs += 1;
        return work(session);
      });
    };
    const [data, db] = [engine.client.db(engine.name), engine.client.db(`${engine.name}_ledger`)];
    const ledger = mongoLedger({
      data,
      ledger: db,
      wrapping: keyWrapping(Buffer.alloc(32)),
      hooks: [],
      transact,
      deadlineMs,
    });
    return { ledger, counts };
  };
  const forget = () =>
    engine.client.db(`${engine.name}_ledger`).collection<{ _id: string }>("marks").deleteOne({ _id: "forgotten" });
  ledgerContract("mongodb", open);
  suppressionContract("mongodb", open);

  it("rejects a request that becomes late before or during its transaction, and accepts others in the same one", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const data = engine.client.db(engine.name);
    const ledger = engine.client.db(`${engine.name}_ledger`);
    const wrapping = keyWrapping(Buffer.alloc(32));
    const transact: Transact = (work) => ended.then(() => transactions(engine.client, 10_000)(work));
    const slow = mongoLedger({ data, ledger, wrapping, hooks: [], transact, deadlineMs: 10_000 });
    const late = new AbortController();
    const lateInCourse = new AbortController();
    const accepted = [undefined, late.signal, lateAtLastLook(lateInCourse), undefined].map((signal, index) =>
      slow.accept(someDeletion(`${index}`), noScope, signal).catch((error: Error) => error.message),
    );
    late.abort(new Error("late"));
    end();
    const [first, second, third, fourth] = await Promise.all(accepted);
    expect([first, second, third, fourth]).to.deep.equal([true, "late", "late in its course", true]);
    expect((await one.since(0, 9)).map(({ deletion }) => deletion.requestId)).to.have.members([
      "0-1700000000",
      "3-1700000000",
    ]);
    await engine.empty();
  });

  it("accepts 100 requests in one transaction, and fewer if they have many identities", async () => {
    const { ledger, counts } = counting();
    /** Transactions after the first, which has one request. */
    const groupsOf = async (requests: number, identities: number) => {
      counts.transactions = 0;
      const accepted = Array.from({ length: requests + 1 }, (_, n) => {
        const name = `${identities}-${n}`;
        const hashes = Array.from({ length: identities }, (_, identity) => `hash-${name}-${identity}`);
        return ledger.accept(someDeletion(name, { hashes }), noScope);
      });
      await Promise.all(accepted);
      return counts.transactions - 1;
    };
    expect([await groupsOf(100, 2), await groupsOf(12, 300)]).to.deep.equal([1, 2]);
    await engine.empty();
  });

  it("expires requests outside of transactions, so that any number may expire", async () => {
    await one.accept(someDeletion("a"), noScope);
    await one.complete("a-1700000000", 2000, {});
    const { ledger, counts } = counting(50);
    await ledger.expire(2001, true);
    expect(counts.transactions, "the one that numbers it").to.equal(1);
    expect(await one.find("a-1700000000")).to.equal(undefined);
    await forget();
    await engine.empty();
  });

  it("contains the requests of a copied ledger with their numbers, before every later request", async () => {
    const copied = [
      someDeletion("a", { hashes: ["1"], completedAt: 1000 }),
      someDeletion("b", { hashes: ["1"] }),
      someDeletion("c", { hashes: ["1"], problem: "crm answered 500" }),
    ].map((deletion, index) => ({ id: deletion.requestId, sequence: index + 1, deletion }));
    const { deletions } = ledgerParts(engine.client.db(`${engine.name}_ledger`), Buffer.alloc(32));
    await deletions.add(copied);
    expect(await one.since(0, 9)).to.deep.equal(copied.map(({ id: _, ...numbered }) => numbered));
    await one.accept(someDeletion("d", { hashes: ["1"] }), noScope);
    expect(await one.due(0, undefined, 9)).to.deep.equal(["b", "c", "d"].map((name) => `${name}-1700000000`));
    expect(await one.firstOpen(["1"])).to.equal("b-1700000000");
    await engine.empty();
  });

  it("begins requests of a process of version 1.0.0, and lets that process lease none of its own", async () => {
    const requests = engine.client.db(`${engine.name}_ledger`).collection<{ _id: string }>("deletions");
    for (const name of ["a", "b"]) await one.accept(someDeletion(name, { hashes: ["1"] }), noScope);
    await requests.updateOne({ _id: "a-1700000000" }, { $set: { nextTarget: "" } });
    expect(await one.due(0, undefined, 9)).to.deep.equal(["b-1700000000"]);
    await one.clearOtherTargets([]);
    expect(await one.due(0, undefined, 9)).to.deep.equal(["a-1700000000", "b-1700000000"]);
    expect(await requests.countDocuments({ nextTarget: { $ne: null } })).to.equal(0);
    await engine.empty();
  });

  describe("several processes over one ledger", () => {
    beforeEach(forget);
    afterEach(() => engine.empty());

    const numbers = async () => (await one.since(0, 1000)).map(({ sequence }) => sequence);

    it("accept concurrent requests of different people without repeating a transaction, and number each once", async () => {
      const processes = [1, 2, 3].map(() => counting());
      const accepting = async ({ ledger }: { ledger: Ledger }, name: number) => {
        for (let index = 0; index < 20; index += 1)
          expect(await ledger.accept(someDeletion(`${name}-${index}`), noScope)).to.equal(true);
      };
      await Promise.all(processes.map(accepting));
      for (const { counts } of processes) expect(counts).to.deep.equal({ transactions: 20, runs: 20 });
      const numbered = await Promise.all([one, two, three].map((ledger) => ledger.settledSequence()));
      expect(numbered).to.deep.equal([0, 0, 0]);
      expect(await numbers()).to.deep.equal(Array.from({ length: 60 }, (_, index) => index + 1));
    });

    it("show new requests only with greater numbers than those shown before", async () => {
      let highest = 0;
      let done = false;
      const seen = new Set<number>();
      const watch = async () => {
        while (!done) {
          const later = (await two.since(0, 1000))
            .map(({ sequence }) => sequence)
            .filter((number) => !seen.has(number));
          for (const number of later) expect(number).to.be.greaterThan(highest);
          for (const number of later) seen.add(number);
          highest = Math.max(highest, ...later);
        }
      };
      const watching = watch();
      const accept = async (ledger: Ledger, name: string) => {
        for (let turn = 0; turn < 15; turn += 1) await ledger.accept(someDeletion(`${name}-${turn}`), noScope);
      };
      await Promise.all([accept(one, "a"), accept(two, "b"), accept(three, "c")]);
      done = true;
      await watching;
      expect(await numbers()).to.have.length(45);
    });
  });
});

/** The signal of a controller that aborts when it has been read once: the transaction has begun by then. */
function lateAtLastLook(controller: AbortController): AbortSignal {
  const { signal } = controller;
  return new Proxy(signal, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name === "aborted") controller.abort(new Error("late in its course"));
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
