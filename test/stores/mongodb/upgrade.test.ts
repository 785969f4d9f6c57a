import { expect } from "chai";
import { MongoClient } from "mongodb";
import { StartError } from "../../../src/errors.js";
import { openLog } from "../../../src/log.js";
import { openDatabases } from "../../../src/stores/mongodb/open-databases.js";
import { refuseOtherLedger, type UpgradeStep } from "../../../src/stores/mongodb/upgrade.js";
import { startChild } from "../../support/child-service.js";
import { newDocuments, thingsOf } from "../../support/made-up-layouts.js";
import { mongodbUrl, onServers, ownName, testPepper } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";

onServers(["mongodb"], "an upgrade of the databases on MongoDB", function () {
  this.timeout(60_000);
  let name: string;
  let client: MongoClient;
  beforeEach(async () => {
    name = ownName();
    client = new MongoClient(mongodbUrl(name));
    await open([]);
    for (const db of databases()) await thingsOf(db).insertMany([{ _id: "one" }, { _id: "two" }]);
    // Version 1.0.0 stores only the layout of the data.
    await marksIn(1).deleteOne({ _id: "layout" });
  });
  afterEach(async () => {
    for (const db of databases()) await db.dropDatabase();
    await client.close();
  });

  const databases = () => [client.db(name), client.db(`${name}_ledger`)];
  const marksIn = (index: number) =>
    (databases()[index] as ReturnType<MongoClient["db"]>).collection<{ _id: string; text: string }>("marks");
  async function open(steps: readonly UpgradeStep[] = newDocuments, isShared = false): Promise<void> {
    const settings = settingsFor("/nowhere", { pepper: testPepper, entities: { url: mongodbUrl(name) } });
    const plans = { data: [], ledger: [], steps };
    await (await openDatabases(settings, plans, { log: openLog("silent"), isShared, waitMs: 0 })).close();
  }
  async function refusal(...args: Parameters<typeof open>): Promise<string> {
    const error = await open(...args).catch((failure: unknown) => failure);
    expect(error).to.be.instanceOf(StartError);
    return (error as Error).message;
  }

  const layouts = () =>
    Promise.all([0, 1].map(async (index) => (await marksIn(index).findOne({ _id: "layout" }))?.text));
  const upgrades = () =>
    Promise.all(databases().map(async (db) => (await thingsOf(db).find().toArray()).map(({ upgrades }) => upgrades)));
  async function expectUpgraded(): Promise<void> {
    expect(await layouts()).to.deep.equal(["5", "5"]);
    expect(await upgrades()).to.deep.equal([
      [2, 2],
      [1, 1],
    ]);
  }

  it("stores each step once in each database, also if several processes start at once", async () => {
    await Promise.all([open(), open(), open()]);
    await expectUpgraded();
    await open();
    await expectUpgraded();
  });

  it("begins at the layout of each database: data from a backup is upgraded next to a newer ledger", async () => {
    await open();
    await marksIn(0).updateOne({ _id: "layout" }, { $set: { text: "4" } });
    for (const db of databases().slice(0, 1)) await thingsOf(db).updateMany({}, { $inc: { upgrades: -1 } });
    await open();
    await expectUpgraded();
  });

  it("stores nothing in a missing ledger, so that a restored one is upgraded", async () => {
    const ledger = databases()[1] as ReturnType<MongoClient["db"]>;
    const marks = await marksIn(1).find().toArray();
    await ledger.dropDatabase();
    expect(await refusal()).to.contain(`${name}_ledger is missing or belongs to other data`);
    await marksIn(1).insertMany(marks);
    await thingsOf(ledger).insertMany([{ _id: "one" }, { _id: "two" }]);
    await open();
    await expectUpgraded();
  });

  it("is not needed by new databases", async () => {
    for (const db of databases()) await db.dropDatabase();
    await Promise.all([open(), open()]);
    expect(await layouts()).to.deep.equal(["5", "5"]);
  });

  for (const [failpoint, after, left] of [
    ["layout-step-done", 1, ["3", undefined]],
    ["layout-step-stored", 2, ["5", undefined]],
    ["layout-step-done", 3, ["5", "3"]],
  ] as const) {
    it(`that was killed at ${failpoint} (${after}) is continued by the next process`, async () => {
      const environment = { FAILPOINT: failpoint, FAILPOINT_AFTER: String(after) };
      const args = ["--import", "tsx", "test/support/upgrade-in-child.ts", mongodbUrl(name)];
      const child = startChild(environment, args);
      expect(await child.ended, child.err()).to.equal("SIGKILL");
      expect(await layouts()).to.deep.equal(left);
      await open();
      await expectUpgraded();
    });
  }

  it("stores nothing of a step that fails", async () => {
    const failing: UpgradeStep = {
      async data(db, session) {
        await thingsOf(db).deleteMany({}, { session });
        throw new StartError("half way");
      },
    };
    const error = await open([...newDocuments.slice(0, 1), failing]).catch((failure: unknown) => failure);
    expect((error as Error).message).to.equal("half way");
    expect(await layouts()).to.deep.equal(["4", undefined]);
    await open();
    await expectUpgraded();
  });

  it("does not happen where an older service may be using the databases: a command refuses them, unchanged", async () => {
    const words = "has layout 3, and this command uses layout 5: start the service of this version";
    expect(await refusal(newDocuments, true)).to.contain(`${name} ${words}`);
    const ledger = databases()[1] as ReturnType<MongoClient["db"]>;
    const error = await refuseOtherLedger(ledger, newDocuments).catch((failure: unknown) => failure);
    expect((error as Error).message).to.contain(`${name}_ledger ${words}`);
    expect(await layouts()).to.deep.equal(["3", undefined]);
    await refuseOtherLedger(ledger);
  });

  it("refuses unknown layouts of each database in one line, and leaves both unchanged", async () => {
    await open();
    for (const [data, ledger, message] of [
      ["6", "5", `${name} has layout 6, and this version of entity-metrics reads layouts up to 5: start the newer`],
      ["5", "6", `${name}_ledger has layout 6, and this version of entity-metrics reads layouts up to 5: start the`],
      ["2", "5", `${name} has layout 2, from before version 1.0.0`],
      ["5", "1", `${name}_ledger has layout 1, from before version 1.0.0`],
    ] as const) {
      await marksIn(0).updateOne({ _id: "layout" }, { $set: { text: data } });
      await marksIn(1).updateOne({ _id: "layout" }, { $set: { text: ledger } });
      expect(await refusal())
        .to.match(/^[^\n]+$/)
        .and.contain(message);
      expect(await layouts()).to.deep.equal([data, ledger]);
    }
    await marksIn(0).deleteOne({ _id: "layout" });
    expect(await refusal(), "data without a layout").to.contain(`${name} has layout 0, from before version 1.0.0`);
  });
});
