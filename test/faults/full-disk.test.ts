import { join } from "node:path";
import { expect } from "chai";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { type ChildService, startChild } from "../support/child-service.js";
import { dataFolder } from "../support/data-folder.js";
import { adminKey } from "../support/service.js";
import { limitFileSize, mountSmallDisk, type SmallDisk } from "../support/small-disk.js";

const HOUR = 3_600_000;
const READY = { ready: true, degraded: false };
const DEGRADED = { ready: true, degraded: true };

/** Series of one write, so that a commit needs more pages than the log of a small store has room for. */
const SERIES = 500;

describe("P24: an embedded service whose files cannot grow", function () {
  this.timeout(60_000);

  const writes = [
    { of: "a message", method: "POST", path: "/collect/json/web", body: { _uid: "ann" } },
    { of: "a segment", method: "PUT", path: "/api/segment/readers", body: { table: "user" } },
  ];
  for (const { of, method, path, body } of writes)
    it(`is degraded from the first rejected write of ${of} until writes succeed again`, async () => {
      const service = startChild({ DATA_DIR: dataFolder(), ADMIN_KEY: adminKey, LOG_LEVEL: "silent" });
      try {
        const url = await service.listening;
        let written = 0;
        const write = async () => {
          written += 1;
          const headers = { authorization: adminKey, "content-type": "application/json" };
          const json = JSON.stringify({ ...body, name: `Name ${written}` });
          return (await fetch(url + path, { method, headers, body: json })).status;
        };
        const notes = async () => {
          const { data } = (await (await fetch(`${url}/ready`)).json()) as {
            data: { ready: boolean; stores: Store[] };
          };
          expect(data.ready).to.equal(true);
          return data.stores.flatMap(({ state, note }) => (state === "up" ? [] : `${state}: ${note}`));
        };
        expect(await write()).to.equal(200);
        limitFileSize(service.child.pid, 0);
        expect(await write()).to.equal(503);
        expect(await notes()).to.deep.equal(Array(3).fill("degraded: Writes fail: disk I/O error"));
        limitFileSize(service.child.pid);
        expect(await notes()).to.deep.equal([]);
        expect(await write()).to.equal(200);
      } finally {
        service.child.kill("SIGKILL");
        await service.ended;
      }
    });
});

interface Store {
  readonly state: string;
  readonly note?: string;
}

describe("P24: an embedded service whose disk is full", function () {
  this.timeout(60_000);
  let disk: SmallDisk | undefined;
  let service: ChildService | undefined;
  before(function () {
    disk = mountSmallDisk(100);
    if (disk === undefined) this.skip();
  });
  afterEach(async () => {
    service?.child.kill("SIGKILL");
    await service?.ended;
    disk?.free();
  });
  after(() => disk?.remove());

  const start = async () => {
    const data = join((disk as SmallDisk).dir, "data");
    service = startChild({ DATA_DIR: data, ADMIN_KEY: adminKey, LOG_LEVEL: "silent" });
    await service.listening;
  };
  const kill = async () => {
    service?.child.kill("SIGKILL");
    await service?.ended;
  };
  const ask = async (path: string, method = "GET", body?: unknown) => {
    const headers = { authorization: adminKey, "content-type": "application/json" };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${await service?.listening}${path}`, { method, headers, ...json });
    return { status: answer.status, body: (await answer.json()) as { message: string; data: unknown } };
  };
  const readiness = async () => {
    const { ready, degraded } = (await ask("/ready")).body.data as typeof READY;
    return { ready, degraded };
  };
  const slot = Math.floor(Date.now() / HOUR) * HOUR - 2 * HOUR;
  const writePoints = (name: string, value: number) => {
    const series = Array.from({ length: SERIES }, (_, i) => ({
      dimension: "stream",
      dimension_id: `${name}${i}`,
      dimension_type: "size",
    }));
    return ask("/api/metric/points", "POST", { series, ts: [slot], values: series.map(() => [value]) });
  };
  const readPoint = async (name: string) => {
    const query = new URLSearchParams({ dimension: "stream", dimension_id: `${name}0`, dimension_type: "size" });
    const { status, body } = await ask(`/api/metric?${query}&range=6h&interval=1h`);
    const [{ values }] = body.data as [{ values: { ts: string; value: number }[] }];
    return { status, value: values.find(({ value }) => value > 0)?.value };
  };
  const collect = (uid: string) => ask("/collect/json/web", "POST", { _uid: uid, city: "Oslo" });

  for (const isKilled of [false, true]) {
    const after = isKilled ? ", also when it is started on the full disk after a kill -9" : "";
    it(`refuses writes with 507, reports degraded, and serves reads until there is space again${after}`, async () => {
      const name = isKilled ? "killed" : "running";
      await start();
      expect(await readiness()).to.deep.equal(READY);
      expect((await writePoints(name, 7)).status).to.equal(200);
      expect((await collect(name)).status).to.equal(200);
      disk?.fill();
      if (isKilled) {
        await kill();
        disk?.fill();
        await start();
      }
      // The room in the logs decides which write is rejected first.
      const refused = {
        points: await untilRefused(() => writePoints("other", 8)),
        profiles: await untilRefused(() => collect("other")),
      };
      for (const answer of Object.values(refused)) {
        expect(answer.status).to.equal(507);
        expect(answer.body).to.include({ status: 507, message: "The store has no space left", data: null });
      }
      expect(await readiness()).to.deep.equal(DEGRADED);
      expect(await readPoint(name)).to.deep.equal({ status: 200, value: 7 });
      expect((await ask(`/api/entity/user/_uid/${name}`)).status).to.equal(200);
      disk?.free();
      expect(await readiness()).to.deep.equal(READY);
      expect((await writePoints("other", 9)).status).to.equal(200);
      expect((await collect("other")).status).to.equal(200);
      await kill();
      await start();
      expect(await readPoint(name)).to.deep.equal({ status: 200, value: 7 });
      expect(await readPoint("other")).to.deep.equal({ status: 200, value: 9 });
      expect((await ask(`/api/entity/user/_uid/${name}`)).status).to.equal(200);
    });
  }

  it("is the first one of a version whose check of stored identities cannot be noted: reads are served", async () => {
    await start();
    expect((await collect("unchecked")).status).to.equal(200);
    await kill();
    // It stays open: the last one to close a file removes its log, and there is no room for a new one.
    const db = new DatabaseSync(join((disk as SmallDisk).dir, "data", "entities.db"));
    try {
      db.exec("DELETE FROM fact WHERE name LIKE 'identities checked%'");
      disk?.fill();
      await start();
      expect((await ask("/api/entity/user/_uid/unchecked")).status).to.equal(200);
    } finally {
      db.close();
    }
  });
});

/** The first answer that is not 200. */
async function untilRefused<T extends { readonly status: number }>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const answer = await write();
    if (answer.status !== 200) return answer;
  }
  throw new Error("no write was refused");
}
