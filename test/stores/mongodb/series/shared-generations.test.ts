import { expect } from "chai";
import { Generations } from "../../../../src/metrics/cache/generations.js";
import { SharedInvalidation } from "../../../../src/metrics/cache/shared-invalidation.js";
import { HOUR, stream } from "../../../../src/metrics/dimensions.js";
import {
  generationCollections,
  mongoRaiseOrder,
  mongoSharedGenerations,
} from "../../../../src/stores/mongodb/series/shared-generations.js";
import { raiseOrderContract } from "../../../contracts/raise-order.contract.js";
import { type FaultProxy, openFaultProxy } from "../../../support/fault-proxy.js";
import { onServers } from "../../../support/servers.js";
import { until } from "../../../support/until.js";
import { openTestDatabase, type TestDatabase } from "../database.js";

const CHUNK_SLOTS = 168;
const DEADLINE_MS = 5_000;
const windowOf = (id: string) => ({ series: { dimension: stream, id, type: "size" }, from: 0, to: HOUR });

onServers(["mongodb"], "mongodb", () => {
  raiseOrderContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(generationCollections);
    return { raiseOrder: mongoRaiseOrder(db), close };
  });
});

onServers(["mongodb"], "generations that processes share on MongoDB", () => {
  let database: TestDatabase;
  const closing: (() => unknown)[] = [];
  beforeEach(async () => {
    database = await openTestDatabase(generationCollections);
    closing.push(database.close);
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** One of several processes. */
  async function open({ db } = database): Promise<Generations> {
    const shared = new SharedInvalidation(mongoSharedGenerations(db, DEADLINE_MS), DEADLINE_MS);
    closing.push(() => shared.close());
    await until("it has read the shared counts", () => shared.isReliable());
    return new Generations(CHUNK_SLOTS, { exclusive: false, shared });
  }

  it("expire data that was read more than 10 s ago, as a process may have been killed before it announced its write", async () => {
    const reader = await open();
    const now = performance.now();
    const aged = (ms: number) => ({ ...reader.versionsIn(windowOf("a")), takenAt: now - ms });
    expect(reader.isCurrent(aged(9_000))).to.equal(true);
    expect(reader.isCurrent(aged(10_001))).to.equal(false);
  });

  it("are incremented by concurrent writes of several processes, also in a process that starts later", async () => {
    const processes = await Promise.all([open(), open(), open()]);
    const reader = await open();
    const token = reader.versionsIn(windowOf("a"));
    await Promise.all(processes.flatMap((one) => Array.from({ length: 30 }, () => one.written([windowOf("a")]))));
    await until("it is raised", () => !reader.isCurrent(token));
    const late = await open();
    const before = late.versionsIn(windowOf("a"));
    await (processes[0] as Generations).written([windowOf("a")]);
    await until("it is raised in the late one", () => !late.isCurrent(before));
  });

  it("are read with the order of the writes of clients, as every increment is, that any process has raised", async () => {
    const generations = mongoSharedGenerations(database.db, DEADLINE_MS);
    const raise = mongoRaiseOrder(database.db);
    expect((await generations.increment(new Set([1]))).order).to.equal(0);
    for (const _ of [1, 2]) {
      const before = await generations.read(0);
      const order = await raise("clients");
      await raise("recorder");
      expect(await generations.read(before?.version ?? 0)).to.have.property("order", order);
      expect(await generations.increment(new Set([2]))).to.have.property("order", order);
    }
    const { version = 0, ...read } = (await generations.read(0)) ?? {};
    expect(read).to.have.deep.property(
      "counts",
      new Map([
        [1, 1],
        [2, 2],
      ]),
    );
    expect(await generations.read(version)).to.equal(undefined);
  });

  describe("while the server is unreachable", () => {
    let proxy: FaultProxy;
    beforeEach(async () => {
      proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
      closing.push(() => proxy.close());
    });

    for (const fault of ["refuse", "blackhole"] as const) {
      it(`allow no cached data and acknowledge no write (fault ${fault})`, async () => {
        const away = await openTestDatabase([], proxy.url(process.env.TEST_MONGODB_URL));
        closing.push(() => away.client.close());
        const process_ = await open({ ...database, db: away.client.db(database.db.databaseName) });
        const token = process_.versionsIn(windowOf("a"));
        await proxy.set(fault);
        await until("nothing is relied on any more", () => !process_.isCurrent(token));
        let isAnnounced = false;
        const announcing = process_.written([windowOf("b")]).then(
          () => {
            isAnnounced = true;
          },
          () => {},
        );
        expect(isAnnounced).to.equal(false);
        await proxy.set("pass");
        await announcing;
        await until("what was not written meanwhile is current again", () => process_.isCurrent(token));
      });
    }
  });
});
