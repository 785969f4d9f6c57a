import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { startService, type TestService } from "../../support/service.js";

const PROFILES = 500;
const REQUESTS = 12;
/** Ids that begin at random take 8.9 MB and more, nearby ones 5.8 MB. */
const FEW_BYTES = 7_300_000;

describe("rows that are written together", () => {
  let service: TestService;

  beforeEach(async () => {
    service = await startService({}, { onServers: false });
  });

  async function collect(request: number): Promise<void> {
    const json = Array.from({ length: PROFILES }, (_, n) => ({ _uid: `${request}-${n}`, segments: ["all"] }));
    const response = await service.fetch("/collect/json/web", { method: "POST", json });
    expect(response.status).to.equal(200);
  }

  it("change few pages of the files of SQLite, as new profiles of one request have nearby ids", async () => {
    for (let request = 0; request < REQUESTS; request += 1) await collect(request);
    const logs = readdirSync(service.dir).filter((name) => name.endsWith("-wal"));
    expect(logs).to.include.members(["entities.db-wal", "ledger.db-wal"]);
    const bytes = logs.map((name) => statSync(join(service.dir, name)).size).reduce((sum, size) => sum + size, 0);
    expect(bytes).to.be.below(FEW_BYTES);
  });
});
