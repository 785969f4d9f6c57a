import { expect } from "chai";
import type { Ledger } from "../../../../src/deletions/ports.js";
import { mongoLedger } from "../../../../src/stores/mongodb/deletions/ledger.js";
import { keyWrapping } from "../../../../src/stores/mongodb/profiles/entity-keys.js";
import { type Transact, transactions } from "../../../../src/stores/mongodb/transaction.js";
import { ledgerContract, noScope, someDeletion } from "../../../contracts/ledger.contract.js";
import { suppressionContract } from "../../../contracts/suppression.contract.js";
import { freshEntity, keep, newHash } from "../../../support/commits.js";
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
  ledgerContract("mongodb", open);
  suppressionContract("mongodb", open);

  it("A request that becomes late before or during its transaction is never accepted; requests that share the transaction are", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const data = engine.client.db(engine.name);
    const ledger = engine.client.db(`${engine.name}_ledger`);
    const wrapping = keyWrapping(Buffer.alloc(32));
    const transact: Transact = (work) => ended.then(() => transactions(engine.client, 10_000)(work));
    const slow = mongoLedger({ data, ledger, wrapping, transact, deadlineMs: 10_000 });
    const late = new AbortController();
    const lateInCourse = new AbortController();
    const accepted = [undefined, late.signal, lateAtLastLook(lateInCourse), undefined].map((signal, index) =>
      slow.accept(someDeletion(`${index}`), noScope, signal).catch((error: Error) => error.message),
    );
    late.abort(new Error("late"));
    end();
    const [first, second, third, fourth] = await Promise.all(accepted);
    expect([first, second, third, fourth]).to.deep.equal([true, "late", "late in its course", true]);
    expect((await one.since(0, 9)).map(({ deletion }) => deletion.identity)).to.have.members(["hash-0", "hash-3"]);
    await engine.empty();
  });

  it("A transaction accepts 100 requests, and fewer if they have many identities", async () => {
    const data = engine.client.db(engine.name);
    const ledger = engine.client.db(`${engine.name}_ledger`);
    let groups = 0;
    const transact: Transact = (work) => {
      groups += 1;
      return transactions(engine.client, 10_000)(work);
    };
    const wrapping = keyWrapping(Buffer.alloc(32));
    const counted = mongoLedger({ data, ledger, wrapping, transact, deadlineMs: 10_000 });
    /** Transactions after the first, which has one request. */
    const groupsOf = async (requests: number, identities: number) => {
      groups = 0;
      const accepted = Array.from({ length: requests + 1 }, (_, n) => {
        const name = `${identities}-${n}`;
        const hashes = Array.from({ length: identities }, (_, identity) => `hash-${name}-${identity}`);
        return counted.accept(someDeletion(name, { hashes }), noScope);
      });
      await Promise.all(accepted);
      return groups - 1;
    };
    expect([await groupsOf(100, 2), await groupsOf(12, 300)]).to.deep.equal([1, 2]);
    await engine.empty();
  });

  it("forgets more requests than a transaction could hold", async () => {
    const data = engine.client.db(engine.name);
    const ledger = engine.client.db(`${engine.name}_ledger`);
    const wrapping = keyWrapping(Buffer.alloc(32));
    await one.accept(someDeletion("a"), noScope);
    await one.complete("a-1700000000", 2000, {});
    let begun = 0;
    const transact: Transact = (work) => {
      begun += 1;
      return transactions(engine.client, 10_000)(work);
    };
    await mongoLedger({ data, ledger, wrapping, transact, deadlineMs: 50 }).expire(2001, true, async () => {});
    expect(begun, "the one that numbers it").to.equal(1);
    expect(await one.find("a-1700000000")).to.equal(undefined);
    await ledger.collection<{ _id: string }>("marks").deleteOne({ _id: "forgotten" });
    await engine.empty();
  });

  it("migrates requests of layout 1, which keep their numbers, and expire them with their identities", async () => {
    const own = await openTestEngine();
    const { ledger } = own.stores;
    for (const name of ["a", "b"]) await ledger.accept(someDeletion(name, { hashes: ["shared", name] }), noScope);
    const numbered = await ledger.since(0, 9);
    const stored = own.client.db(`${own.name}_ledger`);
    for (const { sequence, deletion } of numbered) {
      const { requestId, hashes } = deletion;
      await ledger.complete(requestId, 1000 * sequence, {});
      await stored
        .collection<{ _id: string }>("deletions")
        .updateOne({ _id: requestId }, { $set: { sequence }, $unset: { number: 1 } });
      await stored
        .collection("erased_identities")
        .updateMany({ _id: { $in: [...hashes] } as object }, { $set: { sequence }, $unset: { request: 1 } });
    }
    const data = own.client.db(own.name);
    await data.collection<{ _id: string }>("marks").updateOne({ _id: "layout" }, { $set: { text: "1" } });
    const repeatable = { id: "old", arrival: Date.now(), digest: "d", tally: "" };
    const { began } = await own.stores.idempotency.begin(repeatable);
    const next = await own.another();
    const migrated = next.ledger;
    expect(await next.repeatedDeletions.begin({ ...repeatable, digest: "other" })).to.deep.equal({
      ...repeatable,
      began,
    });
    await migrated.accept(someDeletion("c"), noScope);
    expect((await migrated.since(0, 9)).map(({ sequence, deletion }) => [sequence, deletion.identity])).to.deep.equal([
      [1, "hash-a"],
      [2, "hash-b"],
      [3, "hash-c"],
    ]);
    const listed = await migrated.list({ state: "all", newestFirst: false, after: "a-1700000000", limit: 9 });
    expect(listed.map(({ identity }) => identity)).to.deep.equal(["hash-b", "hash-c"]);
    await migrated.expire(1001, true, async () => {});
    const kept = await stored.collection("erased_identities").distinct("_id");
    expect(kept).to.have.members(["shared", "b", "hash-c", "other-c"]);
    await own.close();
  });

  describe("several processes over one ledger", () => {
    beforeEach(async () => {
      await engine.client
        .db(`${engine.name}_ledger`)
        .collection<{ _id: string }>("marks")
        .deleteOne({ _id: "forgotten" });
    });
    afterEach(() => engine.empty());

    const numbers = async () => (await one.since(0, 1000)).map(({ sequence }) => sequence);

    it("accept requests of different people at once without repeating a transaction, and number each once", async () => {
      const [data, ledger] = [engine.client.db(engine.name), engine.client.db(`${engine.name}_ledger`)];
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
      const wrapping = keyWrapping(Buffer.alloc(32));
      const processes = [1, 2, 3].map(() => mongoLedger({ data, ledger, wrapping, transact, deadlineMs: 10_000 }));
      const accepting = async (process: Ledger, name: number) => {
        for (let index = 0; index < 20; index += 1)
          expect(await process.accept(someDeletion(`${name}-${index}`), noScope)).to.equal(true);
      };
      await Promise.all(processes.map(accepting));
      expect(counts).to.deep.equal({ transactions: 60, runs: 60 });
      const numbered = await Promise.all([one, two, three].map((ledger) => ledger.settledSequence()));
      expect(numbered).to.deep.equal([0, 0, 0]);
      expect(await numbers()).to.deep.equal(Array.from({ length: 60 }, (_, index) => index + 1));
    });

    it("give a request that is seen no number below one that was seen before", async () => {
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

    it("accept one of several requests that name the same profile at the same time", async () => {
      const hash = newHash();
      const { id, revision } = await keep(engine.stores.entities, freshEntity([hash]));
      const scope = { ...noScope, profiles: [{ id, revision }] };
      const accepted = await Promise.all(
        [one, two, three, one].map((ledger, n) =>
          ledger.accept(someDeletion(`n${n}`, { entities: [id], hashes: [hash] }), scope),
        ),
      );
      expect(accepted.filter(Boolean)).to.have.length(1);
      expect(await one.count("open")).to.equal(1);
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
