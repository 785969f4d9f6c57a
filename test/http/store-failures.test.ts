import { join } from "node:path";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { DatabaseSync, sqliteServiceError } from "../../src/stores/sqlite/connection.js";
import { onEmbedded } from "../support/servers.js";
import { startService } from "../support/service.js";

onEmbedded("an embedded store that cannot", () => {
  it("is 503 with Retry-After for writers, while reads go on, and nothing is lost when it can again", async () => {
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

  it("is 507 when it is full", () => {
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

  it("is a mistake of ours when it says that the statement is wrong", () => {
    const db = new DatabaseSync(":memory:");
    expect(() => db.exec("SELECT nothing"))
      .to.throw()
      .and.satisfy((error: unknown) => sqliteServiceError(error) === undefined);
    expect(sqliteServiceError(new Error("another"))).to.equal(undefined);
    expect(sqliteServiceError(undefined)).to.equal(undefined);
  });
});
