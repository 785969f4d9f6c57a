import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { mintKey } from "../../src/keys/verify-key.js";
import { statusOf } from "../support/requests.js";
import { mongodbUrl, nameOf, onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";

describe("after a restore of embedded data,", () => {
  it("a key that was revoked after the copy stays revoked, and a newer key works", async () => {
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
});

onServers(["mongodb", "influxdb", "bullmq"], "after a restore of data on servers,", function () {
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

  it("a key that was revoked after the copy stays revoked, and a newer key works", async () => {
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
  expect(await statusOf(restored, "/metrics", early.key), "revoked").to.equal(401);
  expect(await statusOf(restored, "/metrics", late.key), "made since").to.equal(200);
}
