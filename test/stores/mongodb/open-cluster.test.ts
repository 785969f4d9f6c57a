import { expect } from "chai";
import { MongoClient } from "mongodb";
import { systemClock } from "../../../src/clock.js";
import { StartError } from "../../../src/errors.js";
import { openLog } from "../../../src/log.js";
import { type ShardedCollection, shardingError } from "../../../src/stores/mongodb/collection.js";
import { openMongo } from "../../../src/stores/mongodb/index.js";
import { dataFolder } from "../../support/data-folder.js";
import { freePort } from "../../support/free-port.js";
import { type Program, startProgram } from "../../support/program.js";
import { onServers, testPepper } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";

const plans = [
  { name: "identities", indexes: [{ key: { entity: 1 } }] },
  { name: "numbers", indexes: [{ key: { number: 1 }, unique: true }] },
];

const hashed = { _id: "hashed" };

describe("MongoDB clusters that are sharded", () => {
  const cases: readonly [string, readonly ShardedCollection[], RegExp | undefined][] = [
    ["nothing sharded", [], undefined],
    ["identities by hashed _id", [{ _id: "em.identities", key: hashed }], undefined],
    ["identities by _id", [{ _id: "em.identities", key: { _id: 1 } }], undefined],
    [
      "identities by a field",
      [{ _id: "em.identities", key: { entity: 1 } }],
      /em\.identities is sharded by \{"entity":1\}/,
    ],
    [
      "identities by a hashed field",
      [{ _id: "em.identities", key: { entity: "hashed" } }],
      /em\.identities is sharded by/,
    ],
    [
      "identities by _id and more",
      [{ _id: "em.identities", key: { _id: 1, entity: 1 } }],
      /em\.identities is sharded by/,
    ],
    ["identities by an unknown key", [{ _id: "em.identities" }], /em\.identities is sharded by \{\}/],
    [
      "a collection with a unique index",
      [{ _id: "em.numbers", key: hashed }],
      /em\.numbers is sharded: its unique index/,
    ],
    ["the ledger, by hashed _id", [{ _id: "em_ledger.deletions", key: hashed }], /em_ledger\.deletions is sharded/],
    ["a collection of another program", [{ _id: "em.other", key: { a: 1 } }], undefined],
    ["a database whose name begins alike", [{ _id: "em_other.identities", key: { a: 1 } }], undefined],
    ["one that was dropped", [{ _id: "em.identities", key: { entity: 1 }, dropped: true }], undefined],
    [
      "one that is tracked but on one shard",
      [{ _id: "em_ledger.deletions", key: { _id: 1 }, unsplittable: true }],
      undefined,
    ],
  ];

  for (const [title, sharded, fault] of cases) {
    it(`${fault === undefined ? "may have" : "are refused with"} ${title}`, () => {
      const found = shardingError(sharded, { name: "em", plans }, "em_ledger");
      if (fault === undefined) expect(found).to.equal(undefined);
      else expect(found).to.match(fault);
    });
  }
});

onServers(["mongod"], "a MongoDB that is no replica set", function () {
  this.timeout(60_000);
  const dir = dataFolder();
  let host: string;
  let program: Program;
  before(async () => {
    const port = await freePort();
    host = `127.0.0.1:${port}`;
    const place = ["--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket", "--dbpath", dir];
    program = await startProgram(process.env.TEST_MONGOD ?? "", [...place, "--quiet"], async () => {
      const client = new MongoClient(`mongodb://${host}`, { serverSelectionTimeoutMS: 1000 });
      await client.connect().finally(() => client.close());
      return true;
    });
  });
  after(async () => {
    await program.kill();
  });

  it("is refused in one line, as it has no transactions", async () => {
    const settings = settingsFor("/nowhere", { pepper: testPepper, entities: { url: `mongodb://${host}/alone` } });
    const error = await openMongo({ settings, log: openLog("silent"), clock: systemClock }).then(
      (engine) => engine.close(),
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(StartError);
    expect((error as Error).message).to.equal(
      `ENTITIES_URL: MongoDB at ${host} has no transactions, as it is no replica set: start it with --replSet`,
    );
  });
});
