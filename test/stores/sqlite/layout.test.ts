import { rmSync } from "node:fs";
import { expect } from "chai";
import { identityHashing } from "../../../src/entities/profile/identity.js";
import type { Database } from "../../../src/stores/sqlite/connection.js";
import {
  KEPT_AT,
  type KeptIds,
  keptFolders,
  keptPoints,
  keptSeries,
  keptWindow,
  layoutVersion,
  openKept,
  readFile,
  startKept,
} from "../../support/kept-layout.js";
import { isCompleteIn, removeThrough } from "../../support/requests.js";
import type { TestService } from "../../support/service.js";
import { startService } from "../../support/service.js";
import { until } from "../../support/until.js";

const files = ["ledger", "entities", "metrics"] as const;

for (const name of keptFolders()) {
  describe(`the kept data folder ${name}`, () => {
    let dir: string;
    let ids: KeptIds;
    let service: TestService;
    before(async () => {
      ({ dir, ids } = openKept(name));
      service = await startKept(dir);
    });
    after(() => service.stop());

    const get = async (path: string, key?: string) => {
      const response = await service.fetch(path, key === undefined ? {} : { key });
      return { status: response.status, data: ((await response.json()) as { data: unknown }).data };
    };
    const entityOf = async (uid: string) => {
      const { stores } = service.service;
      const hash = identityHashing(stores.pepper)("user", { field: "_uid", value: uid });
      return (await stores.entities.find([hash])).owners.get(hash);
    };

    it("has its profiles with their attributes and memberships", async () => {
      const { status, data } = await get("/api/entity/user/_uid/bob");
      expect(status).to.equal(200);
      expect(data).to.deep.include({ email: "bob@example.com", city: "Oslo", segments: ["beta"] });
      const { memberships } = service.service.stores;
      expect(await memberships.sizes(["news", "beta", "gone"])).to.deep.equal([1, 2, 0]);
      expect(await memberships.overlap("news", "beta")).to.equal(1);
    });

    it("has a merged profile under the identities of both", async () => {
      const both = [await get("/api/entity/user/_uid/ada"), await get("/api/entity/user/_uid/ada-on-the-phone")];
      expect(both[0]?.data).to.deep.include({ email: "ada@example.com", city: "Oslo" });
      expect(both[1]).to.deep.equal(both[0]);
    });

    it("has its messages, and what was counted of them", async () => {
      const { history, counts } = service.service.stores;
      expect(await history.holds([(await entityOf("bob")) as string])).to.equal(true);
      expect((await counts.streams(undefined, 10)).map(({ stream }) => stream)).to.deep.equal(["mobile", "web"]);
      const slot = KEPT_AT - (KEPT_AT % 3_600_000);
      const counted = await counts.counted(["web", "mobile"], slot);
      expect(Object.fromEntries(counted)).to.deep.equal({ mobile: 3, web: 3 });
    });

    it("knows a repeated request by its Idempotency-Key", async () => {
      const other = await service.fetch("/collect/json/web", {
        method: "POST",
        headers: { "Idempotency-Key": "kept" },
        json: [{ _uid: "another" }],
      });
      expect(other.status).to.be.within(400, 499);
    });

    it("has its series in both sources", async () => {
      const { series } = service.service.stores;
      const window = { series: keptSeries, ...keptWindow };
      const read = async (source?: "clients" | "recorder") => [...((await series.read([window], source))[0] ?? [])];
      expect(await read("recorder")).to.deep.equal([1, 2]);
      expect(await read("clients")).to.deep.equal([Number.NaN, 20]);
      expect(await read()).to.deep.equal([1, 20]);
      const { slotMs } = keptPoints.dimension;
      const to = Math.floor(KEPT_AT / slotMs) * slotMs - slotMs;
      const points = await series.read([{ series: keptPoints, from: to - 2 * slotMs, to }]);
      expect([...(points[0] ?? [])]).to.deep.equal([41, 42.5]);
    });

    it("has its catalogue", async () => {
      const { data } = await get("/api/segment");
      expect((data as { id: string }[]).map(({ id }) => id)).to.deep.equal(["beta", "news"]);
      expect((await get("/api/experience/welcome")).data).to.deep.include({ audience: "news", goal: "beta" });
    });

    it("accepts the valid key, and not the revoked one", async () => {
      expect((await get("/api/segment", ids.key)).status).to.equal(200);
      expect((await get("/api/segment", ids.revokedKey)).status).to.equal(401);
    });

    it("knows who was erased, and does not take them back", async () => {
      expect((await get(`/api/entity/deletestatus/${ids.requestId}`)).data).to.deep.include({ completed: true });
      const late = { _uid: "eve", city: "Rome", at: new Date(KEPT_AT - 3_600_000).toISOString() };
      await service.fetch("/collect/json/web?timestamp_field=at", { method: "POST", json: late });
      expect((await get("/api/entity/user/_uid/eve")).status).to.equal(404);
    });

    it("takes messages, and erases a profile with all that refers to it", async () => {
      await service.fetch("/collect/json/web", { method: "POST", json: { _uid: "bob", city: "Rome" } });
      expect((await get("/api/entity/user/_uid/bob")).data).to.deep.include({ city: "Rome" });
      const entity = (await entityOf("bob")) as string;
      const requestId = await removeThrough(service, "_uid/bob");
      await until("the deletion is complete", () => isCompleteIn(service, requestId));
      const { entities, memberships, history, entityKeys } = service.service.stores;
      for (const store of [entities, memberships, history]) expect(await store.holds([entity])).to.equal(false);
      expect(await entityKeys.read([entity])).to.have.property("size", 0);
    });

    it("has the layout of a new folder", async () => {
      const fresh = await startService({}, { onServers: false });
      try {
        for (const file of files)
          expect(readFile(dir, file, layoutOf), file).to.deep.equal(readFile(fresh.dir, file, layoutOf));
      } finally {
        await fresh.stop();
      }
    });
  });
}

describe("the kept data folders", () => {
  it("include one of the newest layout: a change of the layout needs a migration and another kept folder", async () => {
    const { dir } = openKept(keptFolders().at(-1) as string);
    const fresh = await startService({}, { onServers: false });
    try {
      for (const file of files)
        expect(readFile(dir, file, layoutOf), file).to.deep.equal(readFile(fresh.dir, file, layoutOf));
    } finally {
      await fresh.stop();
      rmSync(dir, { recursive: true });
    }
  });
});

/** The version of a database, and its tables with their columns, keys and indexes, in one order. */
function layoutOf(db: Database): object {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const rows = (sql: string, table: unknown) =>
    db
      .prepare(sql)
      .all(table as string)
      .map((row) => ({ ...row }));
  return {
    version: layoutVersion(db),
    tables: tables.map(({ name }) => ({
      name,
      columns: rows(`SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY name`, name),
      references: rows(`SELECT "table", "from", "to", on_delete FROM pragma_foreign_key_list(?) ORDER BY "from"`, name),
      indexes: rows("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? ORDER BY name", name),
    })),
  };
}
