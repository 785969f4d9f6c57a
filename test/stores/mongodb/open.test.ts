import { expect } from "chai";
import type { MongoClient } from "mongodb";
import { StartError } from "../../../src/errors.js";
import { openLog } from "../../../src/log.js";
import { databaseOf } from "../../../src/stores/mongodb/connection.js";
import { factCollection } from "../../../src/stores/mongodb/database-facts.js";
import { ledgerCollections, mongoLedger } from "../../../src/stores/mongodb/deletions/ledger.js";
import { type OpenDatabases, openDatabases, type Plans } from "../../../src/stores/mongodb/open-databases.js";
import { entityCollections } from "../../../src/stores/mongodb/profiles/entity-document.js";
import { keyWrapping } from "../../../src/stores/mongodb/profiles/entity-keys.js";
import { dropDatabases } from "../../support/drop-from-servers.js";
import { type FaultProxy, openFaultProxy } from "../../support/fault-proxy.js";
import { withMongo } from "../../support/mongo-client.js";
import { mongodbUrl, onServers, ownName, testPepper } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";

const wrapping = keyWrapping(Buffer.from(testPepper));
const things = { name: "things", indexes: [{ key: { a: 1, b: -1 } }, { key: { c: 1 }, unique: true }] } as const;
const plans: Plans = { data: [...entityCollections, factCollection, things], ledger: ledgerCollections };

interface Stored {
  readonly _id: string;
}

describe("the database of a URL of MongoDB", () => {
  const cases: readonly [string, string][] = [
    ["mongodb://host", "entity_metrics"],
    ["mongodb://host/", "entity_metrics"],
    ["mongodb://host/?replicaSet=a/b", "entity_metrics"],
    ["mongodb://user:p%2Fw@one:1,two:2/own?w=1", "own"],
    ["mongodb+srv://user:pw@host/own%2Dname", "own-name"],
  ];
  for (const [url, name] of cases) it(`is ${name} in ${url}`, () => expect(databaseOf(url)).to.equal(name));

  it("has at most 56 bytes, so that the name of the ledger fits", () => {
    expect(databaseOf(`mongodb://host/${"a".repeat(56)}`)).to.have.length(56);
    expect(() => databaseOf(`mongodb://host/${"a".repeat(57)}`)).to.throw(StartError, /more than 56 bytes/);
  });
});

onServers(["mongodb"], "databases on MongoDB", () => {
  let name: string;
  let url: string;
  const opened: OpenDatabases[] = [];

  beforeEach(() => {
    name = ownName();
    url = mongodbUrl(name);
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await dropDatabases(name);
  });

  async function open(
    own: { url?: string; pepper?: string | null; waitMs?: number; deadlineMs?: number; plans?: Plans } = {},
  ) {
    const settings = settingsFor("/nowhere", {
      pepper: own.pepper === undefined ? testPepper : own.pepper,
      entities: { url: own.url ?? url },
      limits: { store_deadline_ms: own.deadlineMs ?? 10_000 },
    });
    const options = { log: openLog("silent"), waitMs: own.waitMs ?? 5000 };
    const one = await openDatabases(settings, own.plans ?? plans, options);
    opened.push(one);
    return one;
  }

  async function refusal(own: Parameters<typeof open>[0] = {}): Promise<string> {
    try {
      await open(own);
    } catch (error) {
      expect(error).to.be.instanceOf(StartError);
      return (error as Error).message;
    }
    return "";
  }

  it("get missing collections and indexes once, also from several processes at once", async () => {
    await Promise.all([open(), open(), open()]);
    const { data, ledger } = await open();
    const indexes = await data.collection("things").indexes();
    expect(indexes.map(({ key, unique }) => [key, unique === true])).to.deep.equal([
      [{ _id: 1 }, false],
      [{ a: 1, b: -1 }, false],
      [{ c: 1 }, true],
    ]);
    expect((await ledger.collection("deletions").indexes()).filter(({ unique }) => unique)).to.have.length(1);
  });

  const wrong: readonly [string, (client: MongoClient) => Promise<unknown>, RegExp][] = [
    [
      "an index that must be unique and is not",
      (client) => client.db(name).collection("things").createIndex({ c: 1 }),
      /The indexes of .*\.things cannot be created .*unique \{"c":1\}/,
    ],
    [
      "an index that must not be unique and is",
      (client) => client.db(name).collection("things").createIndex({ a: 1, b: -1 }, { unique: true }),
      /The indexes of .*\.things cannot be created .*\{"a":1,"b":-1\}/,
    ],
    [
      "documents that conflict with a unique index",
      (client) =>
        client
          .db(name)
          .collection<{ c: number }>("things")
          .insertMany([{ c: 1 }, { c: 1 }]),
      /The indexes of .*\.things cannot be created/,
    ],
  ];
  for (const [title, before, message] of wrong) {
    it(`are refused with ${title}`, async () => {
      await withMongo(before);
      expect(await refusal()).to.match(message);
    });
  }

  it("are compared with the notes of accepted deletions some at a time, in the order of an index", async () => {
    await open();
    const ids = Array.from({ length: 2_500 }, (_, n) => `request-${String(n).padStart(4, "0")}`);
    await withMongo(async (client) => {
      const requests = ids.map((_id, n) => ({ _id, number: n + 1, sequence: n + 1, open: false }));
      await client.db(`${name}_ledger`).collection<Stored>("deletions").insertMany(requests);
      const data = client.db(name);
      await data.collection<Stored>("accepted_deletions").insertMany(ids.map((_id) => ({ _id })));
      await data.command({ profile: 2 });
      await open();
      const reads = await data
        .collection("system.profile")
        .find({ ns: `${name}.accepted_deletions`, op: { $in: ["query", "getmore"] } })
        .toArray();
      expect([...new Set(reads.map(({ planSummary }) => planSummary))]).to.deep.equal(["IXSCAN { _id: 1 }"]);
      const examined = reads.map(({ docsExamined }) => docsExamined as number);
      expect(examined.reduce((sum, docs) => sum + docs)).to.equal(ids.length);
      expect(Math.max(...reads.map(({ command }) => command.limit ?? 0))).to.equal(1_000);
      expect(await data.collection("accepted_deletions").countDocuments()).to.equal(0);
    });
  });

  it("are refused without a pepper, and with another one than before", async () => {
    expect(await refusal({ pepper: null })).to.match(/PEPPER is missing/);
    await open();
    expect(await refusal({ pepper: "another pepper of at least 32 bytes" })).to.match(/PEPPER is not the pepper/);
    await open();
  });

  describe("on a server that is unreachable", () => {
    let proxy: FaultProxy;
    beforeEach(async () => {
      proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
    });

    it("are waited for, and refused in one line without the password", async () => {
      await proxy.set("refuse");
      const message = await refusal({ url: withPassword(proxy.url(url)), deadlineMs: 1000, waitMs: 1000 });
      expect(message).to.match(/^ENTITIES_URL: MongoDB at 127\.0\.0\.1:\d+ is unreachable, or has no primary$/);
    });

    it("are opened once it is there", async () => {
      await proxy.set("refuse");
      const opening = open({ url: proxy.url(url), deadlineMs: 1000, waitMs: 15_000 });
      await proxy.set("pass");
      expect(await mongoLedger({ ...(await opening), wrapping, hooks: [] }).count("open")).to.equal(0);
    });
  });
});

/** A password that no server asks for, because none responds. */
function withPassword(url: string): string {
  return url.replace("mongodb://", "mongodb://user:hunter2@");
}
