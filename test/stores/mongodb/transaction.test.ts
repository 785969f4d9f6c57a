import { expect } from "chai";
import { type ClientSession, MongoClient, MongoError, MongoServerError } from "mongodb";
import { openLog } from "../../../src/log.js";
import { connect } from "../../../src/stores/mongodb/connection.js";
import { mongoServiceError } from "../../../src/stores/mongodb/errors.js";
import { transactions } from "../../../src/stores/mongodb/transaction.js";
import { type FaultProxy, openFaultProxy } from "../../support/fault-proxy.js";
import { mongodbUrl, onServers, ownName } from "../../support/servers.js";

const DEADLINE_MS = 1_000;

onServers(["mongodb"], "a transaction on mongodb", function () {
  // The driver alone would retry for two minutes.
  this.timeout(60_000);
  const name = ownName();
  let proxy: FaultProxy;
  let client: MongoClient;
  let direct: MongoClient;

  before(async () => {
    proxy = await openFaultProxy(mongodbUrl(name));
    client = new MongoClient(proxy.url(mongodbUrl(name)), { socketTimeoutMS: 500, serverSelectionTimeoutMS: 500 });
    direct = new MongoClient(mongodbUrl(name));
    await direct.db(name).createCollection("things");
  });
  after(async () => {
    await client.close();
    await proxy.close();
    await direct.db(name).dropDatabase();
    await direct.close();
  });

  const things = () => client.db(name).collection<{ _id: string }>("things");
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: unknown) => mongoServiceError(error)?.kind,
    );

  it("ends at its deadline if every attempt conflicts with another writer", async () => {
    const conflict = new MongoServerError({ message: "conflict", code: 112 });
    conflict.addErrorLabel("TransientTransactionError");
    let tries = 0;
    const transact = transactions(client, DEADLINE_MS);
    const ended = await outcome(
      transact(async () => {
        tries += 1;
        throw conflict;
      }),
    );
    expect(ended).to.equal("unavailable");
    expect(tries).to.be.greaterThan(1);
  });

  it("is repeated if the driver found its connections closed", async () => {
    let tries = 0;
    const written = await transactions(
      client,
      DEADLINE_MS,
    )(async (session) => {
      tries += 1;
      await things().updateOne({ _id: "pool" }, { $inc: { n: 1 } }, { session, upsert: true });
      if (tries === 1)
        throw Object.defineProperty(new MongoError("cleared"), "name", { value: "MongoPoolClearedError" });
      return tries;
    });
    expect(written).to.equal(2);
    expect(
      await direct
        .db(name)
        .collection("things")
        .findOne({}, { projection: { _id: 0 } }),
    ).to.deep.equal({ n: 1 });
    await direct.db(name).collection("things").deleteMany({});
  });

  it("stores nothing if its work ends after the deadline", async () => {
    let goOn = () => {};
    const ended = await outcome(
      transactions(
        client,
        DEADLINE_MS,
      )(async (session) => {
        await things().insertOne({ _id: "late" }, { session });
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      }),
    );
    expect(ended).to.equal("unavailable");
    goOn();
    // Repeated while the previous transaction is open; it would find the document of that transaction.
    await transactions(
      direct,
      30_000,
    )(async (session) => {
      await direct.db(name).collection<{ _id: string }>("things").insertOne({ _id: "late" }, { session });
    });
  });

  it("ends at its deadline if the server does not respond to its commit", async () => {
    const transact = transactions(client, DEADLINE_MS);
    const ended = await outcome(
      transact(async (session) => {
        await things().insertOne({ _id: "a" }, { session });
        await proxy.set("blackhole");
      }),
    );
    await proxy.set("pass");
    expect(ended).to.equal("unavailable");
  });

  it("succeeds after a process was killed during another one over the same document", async () => {
    const through = await openFaultProxy(mongodbUrl(name));
    const open = (url: string) => connect({ url, deadlineMs: 30_000, log: openLog("silent") }, async () => {});
    const [killed, other] = [await open(through.url(mongodbUrl(name))), await open(mongodbUrl(name))];
    try {
      const written = new Promise<void>((resolve) => {
        const work = killed.transact(async (session) => {
          await killed.data.collection<{ _id: string }>("things").insertOne({ _id: "held" }, { session });
          resolve();
          await new Promise(() => {});
        });
        work.catch(() => {});
      });
      await written;
      await through.close();
      const insert = (session: ClientSession) =>
        other.data.collection<{ _id: string }>("things").insertOne({ _id: "held" }, { session });
      expect(await outcome(other.transact(insert))).to.equal("done");
    } finally {
      await other.close();
      await killed.close();
    }
  });
});
