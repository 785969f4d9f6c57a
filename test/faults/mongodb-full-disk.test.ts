import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { freePort } from "../support/free-port.js";
import { type Program, startProgram } from "../support/program.js";
import { removeThrough, statusOfProfile } from "../support/requests.js";
import { onServers, ownName, testPepper } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.js";
import { until } from "../support/until.js";

onServers(["mongod"], "P24: a service whose MongoDB has a full disk", function () {
  this.timeout(240_000);
  let disk: SmallDisk | undefined;
  let mongod: Program | undefined;
  let client: MongoClient | undefined;
  let service: TestService;
  before(async function () {
    disk = mountSmallDisk(700);
    if (disk === undefined) return this.skip();
    const port = await freePort();
    const database = join(disk.dir, "database");
    mkdirSync(database);
    const own = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=1000`);
    client = own;
    mongod = await startProgram(
      process.env.TEST_MONGOD ?? "",
      [
        ...["--dbpath", database, "--port", String(port), "--bind_ip", "127.0.0.1", "--replSet", "full"],
        ...[
          "--oplogSize",
          "50",
          "--wiredTigerCacheSizeGB",
          "0.25",
          "--setParameter",
          "diagnosticDataCollectionEnabled=false",
        ],
      ],
      async () =>
        (await own.connect())
          .db("admin")
          .command({ ping: 1 })
          .then(() => true),
    );
    const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
    await own.db("admin").command({ replSetInitiate: { _id: "full", members } });
    service = await startService(
      {
        entities: { url: `mongodb://127.0.0.1:${port}/${ownName()}?replicaSet=full` },
        pepper: testPepper,
        limits: { store_deadline_ms: 2_000 },
      },
      { onServers: false },
    );
  });
  after(async () => {
    await service?.stop();
    await client?.close();
    await mongod?.kill();
    disk?.remove();
  });

  const collect = async (name: string, text = "") =>
    (await service.fetch("/collect/json/web", { method: "POST", json: { _uid: name, text } })).status;

  it("loses mongod, is answered 503 until there is space again, and then has everything that was acknowledged", async () => {
    const program = mongod as Program;
    for (const name of ["kept", "deleted"]) expect(await collect(name)).to.equal(200);
    await removeThrough(service, "_uid/deleted");
    disk?.fill();
    expect(await statusOfProfile(service, "_uid/kept")).to.equal(200);
    const acknowledged = ["kept"];
    for (let n = 0; isRunning(program.pid()); n += 1) {
      const status = await collect(`n${n}`, "x".repeat(30_000));
      expect(status).to.be.oneOf([200, 503]);
      if (status === 200) acknowledged.push(`n${n}`);
    }
    const read = await service.fetch("/api/entity/user/_uid/kept");
    expect([read.status, read.headers.has("retry-after")]).to.deep.equal([503, true]);
    expect((await service.fetch("/ready")).status).to.equal(503);

    disk?.free();
    await program.restart();
    await until("a write succeeds", async () => (await collect("later")) === 200, 60_000);
    for (const name of acknowledged) expect(await statusOfProfile(service, `_uid/${name}`)).to.equal(200);
    expect(await statusOfProfile(service, "_uid/deleted")).to.equal(404);
  });
});

function isRunning(pid: number | undefined): boolean {
  try {
    return process.kill(pid as number, 0);
  } catch {
    return false;
  }
}
