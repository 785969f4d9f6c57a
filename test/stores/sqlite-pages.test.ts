import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { startService, type TestService } from "../support/service.js";

const PROFILES = 500;
const REQUESTS = 12;
/** Ids that begin at random take 8.9 MB and more, nearby ones 5.8 MB. */
const FEW_BYTES = 7_300_000;

describe("rows that are written together", () => {
  let service: TestService;

  beforeEach(async () => {
    service = await startService({}, { onServers: false });
  });

  afterEach(() => service.stop());

  async function collect(request: number, headers: Record<string, string> = {}): Promise<void> {
    const json = Array.from({ length: PROFILES }, (_, n) => ({ _uid: `${request}-${n}`, segments: ["all"] }));
    const response = await service.fetch("/collect/json/web", { method: "POST", json, headers });
    expect(response.status).to.equal(200);
  }

  it("change few pages of SQLite's files: new profiles of one request lie side by side", async () => {
    for (let request = 0; request < REQUESTS; request += 1) await collect(request);
    const logs = readdirSync(service.dir).filter((name) => name.endsWith("-wal"));
    expect(logs).to.include.members(["entities.db-wal", "ledger.db-wal"]);
    const bytes = logs.map((name) => statSync(join(service.dir, name)).size).reduce((sum, size) => sum + size, 0);
    expect(bytes).to.be.below(FEW_BYTES);
  });

  it("have ids that begin alike, also the messages of a request that may be repeated", async () => {
    for (let time = 0; time < 2; time += 1) await collect(0, { "Idempotency-Key": "once" });
    const db = new DatabaseSync(join(service.dir, "entities.db"), { readOnly: true });
    try {
      const found = db.prepare("SELECT count(*) AS messages, count(DISTINCT substr(id, 1, 8)) AS starts FROM message");
      expect(found.get()).to.deep.include({ messages: PROFILES, starts: 1 });
    } finally {
      db.close();
    }
  });
});
