import { expect } from "chai";
import { MongoClient } from "mongodb";
import type { Ledger } from "../../src/deletions/ledger.js";
import { promised } from "../../src/stores/mongodb/connection.js";
import { mongoFailure } from "../../src/stores/mongodb/failure.js";
import { ledgerCollections, mongoLedger } from "../../src/stores/mongodb/ledger.js";
import { deletionsOf } from "../../src/stores/mongodb/ledger-document.js";
import { mongoSuppression } from "../../src/stores/mongodb/suppression.js";
import { ledgerContract, someDeletion } from "../contracts/ledger.contract.js";
import { suppressionContract } from "../contracts/suppression.contract.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { mongodbUrl, onServers } from "../support/servers.js";

onServers(["mongodb"], "the ledger on MongoDB", () => {
  const open = async () => {
    const { db, close } = await openTestDatabase(ledgerCollections);
    return { ledger: mongoLedger(db), suppression: mongoSuppression(db), close };
  };
  ledgerContract("mongodb", open);
  suppressionContract("mongodb", open);

  describe("several processes over one ledger", () => {
    let at: TestDatabase;
    let one: Ledger;
    let two: Ledger;
    beforeEach(async () => {
      at = await openTestDatabase(ledgerCollections);
      [one, two] = [mongoLedger(at.db), mongoLedger(at.db)];
    });
    afterEach(() => at.close());

    const numbers = async () => (await one.since(0, 1000)).map(({ sequence }) => sequence);

    it("accept many requests at once, each with a number of its own and none left out", async () => {
      const accepting = Array.from({ length: 64 }, (_, index) => [
        one.accept(someDeletion(`one-${index}`)),
        two.accept(someDeletion(`two-${index}`)),
      ]);
      await Promise.all(accepting.flat());
      expect(await numbers()).to.deep.equal(Array.from({ length: 128 }, (_, index) => index + 1));
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
        for (let turn = 0; turn < 15; turn += 1) await ledger.accept(someDeletion(`${name}-${turn}`));
      };
      await Promise.all([accept(one, "a"), accept(two, "b"), accept(mongoLedger(at.db), "c")]);
      done = true;
      await watching;
      expect(await numbers()).to.have.length(45);
    });

    it("accept the same identity at the same moment as two requests", async () => {
      await Promise.all([
        one.accept(someDeletion("a", { requestId: "first-1" })),
        two.accept(someDeletion("a", { requestId: "second-1" })),
      ]);
      expect((await one.openOver(["hash-a"])).map(({ requestId }) => requestId)).to.have.members([
        "first-1",
        "second-1",
      ]);
    });

    it("give no number again whose request was forgotten, also by one who slept through it", async () => {
      await one.accept(someDeletion("a"));
      await two.accept(someDeletion("b"));
      await two.accept(someDeletion("c"));
      await two.complete("b-1700000000", 1, 2000);
      await two.expire(3000, async () => {});
      await one.accept(someDeletion("d"));
      const all = await one.since(0, 10);
      expect(all.map(({ deletion }) => deletion.identity)).to.deep.equal(["hash-a", "hash-c", "hash-d"]);
      expect(all.map(({ sequence }) => sequence)).to.deep.equal([1, 3, 4]);
    });

    it("leave a request to another when its runner died, once its time is over", async () => {
      await one.accept(someDeletion("a"));
      expect(await one.claim("a-1700000000", "dead", 0, 30_000)).to.equal(true);
      expect(await two.claim("a-1700000000", "alive", 29_999, 60_000)).to.equal(false);
      expect(await two.open({ limit: 10, due: 29_999 })).to.have.length(0);
      expect(await two.open({ limit: 10, due: 30_000 })).to.have.length(1);
      expect(await two.claim("a-1700000000", "alive", 30_000, 60_000)).to.equal(true);
    });
  });

  it("keeps a request, its events and whom it suppresses in one document", async () => {
    const { db, close } = await openTestDatabase(ledgerCollections);
    await mongoLedger(db).accept(someDeletion("a"));
    const documents = await deletionsOf(db).find().toArray();
    await close();
    expect(documents).to.have.length(1);
    expect(documents[0]).to.deep.include({
      _id: "a-1700000000",
      open: true,
      entities: ["sealer-a", "entity-a"],
      suppressed: [
        { hash: "hash-a", cutOff: 1000 },
        { hash: "other-a", cutOff: 1000 },
      ],
    });
  });

  describe("when an answer is lost on its way", () => {
    let proxy: FaultProxy;
    let at: TestDatabase;
    let client: MongoClient;
    beforeEach(async () => {
      proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
      at = await openTestDatabase(ledgerCollections);
      client = new MongoClient(proxy.url(mongodbUrl(at.db.databaseName)));
    });
    afterEach(async () => {
      await client.close();
      await at.close();
      await proxy.close();
    });

    it("the request was accepted once, and the next one has a number of its own", async () => {
      const far = mongoLedger(client.db(at.db.databaseName, promised));
      await far.accept(someDeletion("a"));
      const lost = proxy.when("b-1700000000", "dropAnswers");
      const failure = await far.accept(someDeletion("b")).then(
        () => undefined,
        (error: unknown) => mongoFailure(error),
      );
      await lost;
      expect(failure?.kind).to.be.oneOf([undefined, "unavailable"]);
      await far.accept(someDeletion("c"));
      const all = await mongoLedger(at.db).since(0, 10);
      expect(all.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3]);
      expect(all.map(({ deletion }) => deletion.identity)).to.deep.equal(["hash-a", "hash-b", "hash-c"]);
    });

    it("an extension that is tried again is not lost, and completion says what is so", async () => {
      const far = mongoLedger(client.db(at.db.databaseName, promised));
      const near = mongoLedger(at.db);
      await near.accept(someDeletion("a"));
      const lost = proxy.when("found-late", "dropAnswers");
      await far.extend("a-1700000000", 1, { cutOff: 5000, entities: ["found-late"] }).catch(() => {});
      await lost;
      const { revision = 0, entities } = (await far.find("a-1700000000")) ?? {};
      expect(entities).to.include("found-late");
      const again = await far.extend("a-1700000000", revision, { cutOff: 5000, entities: ["found-late"] });
      expect(again?.entities).to.deep.equal(entities);
      expect(await far.complete("a-1700000000", 1, 6000)).to.equal(false);
      expect(await far.complete("a-1700000000", again?.revision ?? 0, 6000)).to.equal(true);
    });
  });

  it("answers a repeated completion whose first answer was lost", async () => {
    const { db, close } = await openTestDatabase(ledgerCollections);
    const ledger = mongoLedger(db);
    await ledger.accept(someDeletion("a"));
    const answers = [];
    for (const at of [2000, 3000]) answers.push(await ledger.complete("a-1700000000", 1, at));
    const found = await ledger.find("a-1700000000");
    await close();
    expect(answers).to.deep.equal([true, true]);
    expect(found?.completedAt).to.equal(2000);
  });
});
