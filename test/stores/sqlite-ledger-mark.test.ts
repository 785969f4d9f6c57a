import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import { openLog } from "../../src/log.js";
import { openStores } from "../../src/stores/open-stores.js";
import { settingsFor, startService, type TestService } from "../support/service.js";

describe("data and its ledger", () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "ledger-mark-"));
  });

  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it("a ledger that is missing is refused, at the second start too, and taken again once it is back", async () => {
    await useService(async (service) => collect(service, "a"));
    cpSync(join(dir, "ledger.db"), join(dir, "kept.db"));
    removeLedger();
    for (const _ of [1, 2]) expect(await refusal()).to.match(/ledger\.db in .* is missing or belongs to other data/);
    removeLedger();
    cpSync(join(dir, "kept.db"), join(dir, "ledger.db"));
    await useService(async (service) => {
      expect((await service.fetch("/api/me/_uid/a")).status).to.equal(200);
    });
  });

  it("a ledger that has not heard of what the data has seen erased is refused", async () => {
    await useService(async (service) => collect(service, "a"));
    cpSync(join(dir, "ledger.db"), join(dir, "older.db"));
    await useService(async (service) => {
      await service.fetch("/api/entity/user/_uid/a", { method: "DELETE" });
    });
    await useService(async () => {}); // the start notes with the data what was erased
    removeLedger();
    cpSync(join(dir, "older.db"), join(dir, "ledger.db"));
    expect(await refusal()).to.match(/ledger\.db in .* is older than entities\.db/);
  });

  async function useService(work: (service: TestService) => Promise<void>): Promise<void> {
    const service = await startService({}, { dir });
    try {
      await work(service);
    } finally {
      await service.stop({ keep: true });
    }
  }

  async function refusal(): Promise<string> {
    try {
      await (await openStores({ settings: settingsFor(dir), log: openLog("silent"), clock: systemClock })).close();
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  }

  function removeLedger(): void {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `ledger.db${end}`), { force: true });
  }
});

async function collect(service: TestService, uid: string): Promise<void> {
  const { status } = await service.fetch("/collect/json/web", { method: "POST", json: { _uid: uid } });
  expect(status).to.equal(200);
}
