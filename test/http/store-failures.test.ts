import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import type { Log } from "../../src/log.js";
import { DatabaseSync, sqliteServiceError } from "../../src/stores/sqlite/connection.js";
import { startService } from "../support/service.js";

const quiet = { debug: () => {}, info: () => {}, warn: () => {} };

describe("an embedded store", () => {
  it("that is locked results in 503 with Retry-After for writes only, until the lock is released", async () => {
    const service = await startService();
    const intruder = new DatabaseSync(join(service.dir, "metrics.db"));
    const point = { dimension: "stream", dimension_id: "a", dimension_type: "size", value: 1, ts: Date.now() };
    const write = () => service.fetch("/api/metric/points", { method: "POST", json: [point] });
    try {
      intruder.exec("BEGIN IMMEDIATE");
      const response = await write();
      expect(response.status).to.equal(503);
      expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
      expect(await response.json()).to.include({ status: 503, data: null });
      const read = await service.fetch("/api/metric?dimension=stream&dimension_id=a&dimension_type=size&range=2h");
      expect(read.status).to.equal(200);
      intruder.exec("ROLLBACK");
      expect((await write()).status).to.equal(200);
    } finally {
      intruder.close();
      await service.stop();
    }
  });

  it("with a damaged chunk results in 503 with Retry-After for its series only, and one line in the log", async () => {
    const logged: unknown[] = [];
    const log = { ...quiet, error: (line: unknown) => logged.push(line) } as unknown as Log;
    const service = await startService({}, { log });
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    const ts = Array.from({ length: 40 }, (_, i) => hour - (i + 1) * 3_600_000);
    const series = ["a", "b"].map((id) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" }));
    const read = (id: string) =>
      service.fetch(`/api/metric?dimension=stream&dimension_id=${id}&dimension_type=size&range=20h`);
    try {
      const json = { series, ts, values: series.map(() => ts.map(() => 7)) };
      expect((await service.fetch("/api/metric/points", { method: "POST", json })).status).to.equal(200);
      const intruder = new DatabaseSync(join(service.dir, "metrics.db"));
      intruder.exec(`UPDATE chunk SET slots = CAST(x'01' || substr(slots, 2) AS BLOB) WHERE id < (SELECT id FROM series
        WHERE dimension_id = 'b') * 2097152`);
      intruder.close();
      for (let times = 0; times < 2; times += 1) {
        const response = await read("a");
        expect(response.status).to.equal(503);
        expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
      }
      expect((await read("b")).status).to.equal(200);
    } finally {
      await service.stop();
    }
    const reports = logged.filter((line) =>
      /^Row \d+ of the table chunk in metrics\.db is damaged: stop/.test(String(line)),
    );
    expect(reports).to.have.length(1);
  });

  for (const how of ["get", "all"] as const) {
    it(`is unavailable when a file is damaged, by whatever call that is found: ${how}`, () => {
      const path = join(mkdtempSync(join(tmpdir(), "entity-metrics-")), "x.db");
      const made = new DatabaseSync(path);
      made.exec("CREATE TABLE t (a INTEGER UNIQUE); INSERT INTO t VALUES (7)");
      made.close();
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(0xff, 4_096, 4_100));
      const damaged = new DatabaseSync(path);
      let failure: unknown;
      try {
        damaged.prepare("SELECT * FROM t NOT INDEXED")[how]();
      } catch (error) {
        failure = sqliteServiceError(error);
      }
      damaged.close();
      rmSync(dirname(path), { recursive: true });
      expect(failure).to.be.instanceOf(ServiceError).and.include({ kind: "unavailable" });
    });
  }

  for (const how of ["run", "all"] as const) {
    it(`is unavailable while its file can only be read, as on a disk that was mounted again after errors: ${how}`, () => {
      const path = join(mkdtempSync(join(tmpdir(), "entity-metrics-")), "x.db");
      const made = new DatabaseSync(path);
      made.exec("CREATE TABLE t (a)");
      made.close();
      const db = new DatabaseSync(path, { readOnly: true });
      let failure: unknown;
      try {
        db.prepare("INSERT INTO t VALUES (1) RETURNING a")[how]();
      } catch (error) {
        failure = sqliteServiceError(error);
      }
      db.close();
      rmSync(dirname(path), { recursive: true });
      expect(failure).to.be.instanceOf(ServiceError).and.include({ kind: "unavailable" });
    });
  }

  it("that is full is reported as out of space", () => {
    const db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE t (a BLOB); PRAGMA max_page_count = 10");
    let failure: unknown;
    try {
      for (;;) db.exec("INSERT INTO t VALUES (zeroblob(1000))");
    } catch (error) {
      failure = sqliteServiceError(error);
    }
    expect(failure).to.be.instanceOf(ServiceError).and.include({ kind: "out-of-space" });
  });

  it("reports a wrong statement as an internal error", () => {
    const db = new DatabaseSync(":memory:");
    expect(() => db.exec("SELECT nothing"))
      .to.throw()
      .and.satisfy((error: unknown) => sqliteServiceError(error) === undefined);
    expect(sqliteServiceError(new Error("another"))).to.equal(undefined);
    expect(sqliteServiceError(undefined)).to.equal(undefined);
  });
});
