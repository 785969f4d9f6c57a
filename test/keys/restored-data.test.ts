import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { mintKey } from "../../src/keys/mint-key.js";
import { DatabaseSync } from "../../src/stores/sqlite/engine.js";
import { type OldFolder, oldFolder } from "../support/old-folder.js";
import { runToEnd } from "../support/run-command.js";
import { mongodbUrl, nameOf, onEmbedded, onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";

onEmbedded("API keys beside restored data, embedded", () => {
  it("a key that was revoked after the copy was made stays revoked, and one made since works", async () => {
    let service = await startService();
    const { dir } = service;
    try {
      await keysOutliveRestore(service, {
        async copy() {
          await service.stop({ keep: true });
          copyFileSync(join(dir, "entities.db"), join(dir, "copy.db"));
        },
        async restore() {
          await service.stop({ keep: true });
          putBack(dir, "entities.db");
        },
        async start() {
          service = await startService({}, { dir });
          return service;
        },
      });
    } finally {
      await service.stop();
    }
  });

  describe("in a folder of the first schema", () => {
    let old: OldFolder;
    beforeEach(() => {
      old = oldFolder();
    });
    afterEach(() => rmSync(old.dir, { recursive: true, force: true }));

    const started = async <T>(work: (service: TestService) => Promise<T>): Promise<T> => {
      const service = await startService({}, { dir: old.dir });
      try {
        return await work(service);
      } finally {
        await service.stop({ keep: true });
      }
    };
    const states = () =>
      started(async (service) => [await statusOf(service, old.valid), await statusOf(service, old.revoked)]);

    it("keys are as they were, and so are the profiles", async () => {
      expect(await states()).to.deep.equal([200, 401]);
      await started(async (service) => {
        expect((await service.fetch("/api/me/_uid/u-1")).status).to.equal(200);
      });
    });

    it("a message that the earlier version had set aside is gone: no profile names it, so no deletion would reach it", async () => {
      const entities = new DatabaseSync(join(old.dir, "entities.db"));
      const aside =
        entities.prepare(`INSERT INTO message (id, "table", stream, entity, time, arrival, position, sealed, pending)
        VALUES (?, 'user', 'web', ?, 1, 1, 0, x'01', 2)`);
      aside.run("a".repeat(32), "b".repeat(32));
      entities.close();
      const ledger = new DatabaseSync(join(old.dir, "ledger.db"));
      ledger.prepare("INSERT INTO entity_key (entity, key) VALUES (?, randomblob(32))").run("b".repeat(32));
      ledger.close();
      await started(async ({ service }) => {
        expect(await service.stores.history.holds(["b".repeat(32)])).to.equal(false);
      });
    });

    it("keys are moved to the ledger once: the old data put back revives none", async () => {
      copyFileSync(join(old.dir, "entities.db"), join(old.dir, "copy.db"));
      expect(await states()).to.deep.equal([200, 401]);
      const id = old.valid.split("_")[1] as string;
      expect((await runToEnd("key", ["revoke", id], { DATA_DIR: old.dir })).code).to.equal(0);
      putBack(old.dir, "entities.db");
      expect(await states()).to.deep.equal([401, 401]);
    });

    it("the key command finds them before any service has started", async () => {
      const id = old.valid.split("_")[1] as string;
      const listed = await runToEnd("key", ["list"], { DATA_DIR: old.dir });
      expect(listed.out).to.contain(`${id}\t`).and.contain("dashboards");
      expect((await runToEnd("key", ["revoke", id], { DATA_DIR: old.dir })).code).to.equal(0);
      expect(await states()).to.deep.equal([401, 401]);
    });

    it("a ledger that is missing is refused without losing them", async () => {
      copyFileSync(join(old.dir, "ledger.db"), join(old.dir, "copy.db"));
      rmSync(join(old.dir, "ledger.db"));
      const refused = await states().catch((error: Error) => error.message);
      expect(refused).to.match(/ledger\.db in .* is missing/);
      putBack(old.dir, "ledger.db");
      expect(await states()).to.deep.equal([200, 401]);
    });
  });
});

onServers(["mongodb", "influxdb", "bullmq"], "API keys beside restored data, on servers", function () {
  this.timeout(60_000);
  let service: TestService;
  let client: MongoClient;
  beforeEach(async () => {
    service = await startService({}, { onServers: true });
    client = new MongoClient(mongodbUrl(nameOf(service.dir)));
  });
  afterEach(async () => {
    await client.close();
    await service.stop();
  });

  const restart = async () => {
    service = await startService({}, { dir: service.dir, onServers: true });
    return service;
  };
  const data = () => client.db(nameOf(service.dir));

  it("a key that was revoked after the copy was made stays revoked, and one made since works", async () => {
    const copies: [string, Record<string, unknown>[]][] = [];
    await keysOutliveRestore(service, {
      async copy() {
        await service.stop({ keep: true });
        for (const { name } of await data().listCollections().toArray())
          copies.push([name, await data().collection(name).find().toArray()]);
      },
      async restore() {
        await service.stop({ keep: true });
        await data().dropDatabase();
        for (const [name, documents] of copies)
          if (documents.length > 0) await data().collection(name).insertMany(documents);
      },
      start: restart,
    });
  });
});

/** Puts `copy.db` of a folder in the place of a database that no service has open. */
function putBack(dir: string, name: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `${name}${end}`), { force: true });
  copyFileSync(join(dir, "copy.db"), join(dir, name));
}

interface Restoring {
  /** Ends the service and copies its data, without the ledger. */
  copy(): Promise<void>;
  /** Ends the service and puts the copy in the place of the data. */
  restore(): Promise<void>;
  start(): Promise<TestService>;
}

async function keysOutliveRestore(first: TestService, { copy, restore, start }: Restoring): Promise<void> {
  const [early, late] = [mintKey("early", ["metric:read"], 1), mintKey("late", ["metric:read"], 2)];
  await first.service.stores.keys.add(early.kept);
  await copy();
  const second = await start();
  await second.service.stores.keys.revoke(early.kept.id, 3);
  await second.service.stores.keys.add(late.kept);
  await restore();
  const restored = await start();
  expect(await statusOf(restored, early.key), "revoked").to.equal(401);
  expect(await statusOf(restored, late.key), "made since").to.equal(200);
}

async function statusOf(service: TestService, key: string): Promise<number> {
  const answer = await service.fetch("/metrics", { key });
  await answer.arrayBuffer();
  return answer.status;
}
