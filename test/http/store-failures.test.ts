import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import type { Log } from "../../src/log.js";
import { DatabaseSync, sqliteServiceError } from "../../src/stores/sqlite/connection.js";
import { dataFolder } from "../support/data-folder.js";
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

  it("that does not respond within store_deadline_ms results in 503 with Retry-After", async () => {
    const service = await startService({ limits: { store_deadline_ms: 300 } });
    service.service.stores.catalogue.segmentsById = () => new Promise(() => {});
    const answer = await service.fetch("/api/segment/a");
    expect([answer.status, answer.headers.get("retry-after")]).to.deep.equal([503, "1"]);
    expect(await answer.json()).to.include({ status: 503, message: "A store took too long; try again" });
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
    const json = { series, ts, values: series.map(() => ts.map(() => 7)) };
    expect((await service.fetch("/api/metric/points", { method: "POST", json })).status).to.equal(200);
    const intruder = new DatabaseSync(join(service.dir, "metrics.db"));
    intruder.exec(`UPDATE chunk SET sum = ~sum WHERE id < (SELECT id FROM series
      WHERE dimension_id = 'b') * 2097152`);
    intruder.close();
    for (let times = 0; times < 2; times += 1) {
      const response = await read("a");
      expect(response.status).to.equal(503);
      expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
    }
    expect((await read("b")).status).to.equal(200);
    const reports = logged.filter((line) =>
      /^Row \d+ of the table chunk in metrics\.db is damaged: stop/.test(String(line)),
    );
    expect(reports).to.have.length(1);
  });

  const damage = (path: string) => {
    writeFileSync(path, readFileSync(path).fill(0xff, 4_096, 4_100));
    return new DatabaseSync(path);
  };
  const readOnly = (path: string) => new DatabaseSync(path, { readOnly: true });
  const limited = (path: string) => {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA max_page_count = 3");
    return db;
  };
  const insert = "INSERT INTO t VALUES (1) RETURNING a";
  const fill = "INSERT INTO t VALUES (randomblob(100000)) RETURNING a";
  for (const [name, open, statement, how, kind] of [
    ["has a damaged file", damage, "SELECT * FROM t NOT INDEXED", "get", "unavailable"],
    ["has a damaged file", damage, "SELECT * FROM t NOT INDEXED", "all", "unavailable"],
    ["has a file that can only be read, as after errors of the disk,", readOnly, insert, "run", "unavailable"],
    ["has a file that can only be read, as after errors of the disk,", readOnly, insert, "all", "unavailable"],
    ["is full", limited, fill, "run", "out-of-space"],
  ] as const) {
    it(`that ${name} is reported as ${kind} by ${how}`, () => {
      const path = join(dataFolder(), "x.db");
      const made = new DatabaseSync(path);
      made.exec("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (7)");
      made.close();
      const db = open(path);
      let failure: unknown;
      try {
        db.prepare(statement)[how]();
      } catch (error) {
        failure = sqliteServiceError(error);
      }
      db.close();
      rmSync(dirname(path), { recursive: true });
      expect(failure).to.be.instanceOf(ServiceError).and.include({ kind });
    });
  }

  it("reports a wrong statement as an internal error", () => {
    const db = new DatabaseSync(":memory:");
    expect(() => db.exec("SELECT nothing"))
      .to.throw()
      .and.satisfy((error: unknown) => sqliteServiceError(error) === undefined);
    expect(sqliteServiceError(new Error("another"))).to.equal(undefined);
    expect(sqliteServiceError(undefined)).to.equal(undefined);
  });
});
