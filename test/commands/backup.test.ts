import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";
import { root } from "../support/source-tree.js";

describe("npm run backup", function () {
  this.timeout(60_000);
  let service: TestService;
  let copies: string;
  beforeEach(async () => {
    service = await startService();
    copies = mkdtempSync(join(tmpdir(), "entity-metrics-copies-"));
  });
  afterEach(async () => {
    await service.stop();
    rmSync(copies, { recursive: true, force: true });
  });

  const backUp = (...args: string[]) =>
    new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      const child = spawn(process.execPath, ["--import", "tsx", "src/commands/backup.ts", ...args], {
        cwd: root,
        env: { ...process.env, DATA_DIR: service.dir },
      });
      let out = "";
      let err = "";
      child.stdout.on("data", (chunk) => {
        out += chunk;
      });
      child.stderr.on("data", (chunk) => {
        err += chunk;
      });
      child.once("close", (code) => resolve({ code, out, err }));
    });
  const collect = (index: number) =>
    service.fetch("/collect/json/web", {
      method: "POST",
      json: { email: `person-${index}@example.com`, city: "Oslo" },
    });

  it("copies what was acknowledged before it began, while the service is written to, and the copy serves", async () => {
    for (let index = 0; index < 20; index += 1) expect((await collect(index)).status).to.equal(200);
    const point = { dimension: "segment", dimension_id: "s", dimension_type: "size", value: 7, ts: Date.now() };
    await service.fetch("/api/metric/points", { method: "POST", json: [point] });

    let ended = false;
    const backup = backUp(copies).finally(() => {
      ended = true;
    });
    for (let index = 20; !ended; index += 1) expect((await collect(index)).status).to.equal(200);
    const { code, out, err } = await backup;
    expect(code, err).to.equal(0);
    expect(out).to.match(/keep its newest copy only[\s\S]*pepper is not copied/);
    expect(readdirSync(copies).sort()).to.deep.equal(["entities.db", "ledger.db", "metrics.db"]);
    expect(statSync(join(copies, "ledger.db")).mode & 0o077).to.equal(0);

    copyFileSync(join(service.dir, "pepper"), join(copies, "pepper"));
    const restored = await startService({}, { dir: copies });
    for (let index = 0; index < 20; index += 1) {
      const answer = await restored.fetch(`/api/me/email/person-${index}%40example.com`);
      expect(((await answer.json()) as { data: { city: string } }).data.city).to.equal("Oslo");
    }
    const answer = await restored.fetch("/api/metric?dimension=segment&dimension_id=s&dimension_type=size&range=4h");
    expect(
      ((await answer.json()) as { data: [{ values: { value: number }[] }] }).data[0].values.map(({ value }) => value),
    ).to.deep.equal([7]);
    await restored.stop();
  });

  it("puts the ledger apart where it is told to, and replaces earlier copies", async () => {
    for (let run = 0; run < 2; run += 1) {
      expect((await backUp(join(copies, "data"), "--ledger", join(copies, "ledger"))).code).to.equal(0);
    }
    expect(readdirSync(join(copies, "data")).sort()).to.deep.equal(["entities.db", "metrics.db"]);
    expect(readdirSync(join(copies, "ledger"))).to.deep.equal(["ledger.db"]);
  });

  it("brings nobody back who was erased after the copy was made", async () => {
    await collect(1);
    expect((await backUp(copies)).code).to.equal(0);
    expect((await service.fetch("/api/me/email/person-1%40example.com")).status).to.equal(200);
    expect(
      (await service.fetch("/api/entity/user/email/person-1%40example.com", { method: "DELETE" })).status,
    ).to.equal(200);
    await service.stop({ keep: true });
    for (const end of ["", "-wal", "-shm"]) rmSync(join(service.dir, `entities.db${end}`), { force: true });
    copyFileSync(join(copies, "entities.db"), join(service.dir, "entities.db"));
    service = await startService({}, { dir: service.dir });
    expect((await service.fetch("/api/me/email/person-1%40example.com")).status).to.equal(404);
  });

  const wrong: [string, () => string[], number, RegExp][] = [
    ["no folder", () => [], 2, /missing required argument/],
    ["an unknown option", () => [copies, "--all"], 2, /unknown option/],
    ["the folder of the data itself", () => [service.dir], 1, /another than that of the data/],
    ["a folder that cannot be made", () => ["/dev/null/copies"], 1, /cannot be made/],
  ];
  for (const [what, args, code, words] of wrong) {
    it(`refuses ${what} with exit code ${code}`, async () => {
      const answer = await backUp(...args());
      expect(answer.code).to.equal(code);
      expect(answer.err).to.match(words);
    });
  }
});
