import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { dataFolder } from "../support/data-folder.js";
import { commandBlocks } from "../support/readme.js";
import { startReal } from "../support/real-service.js";
import { pointOf, valuesOf, writePoints } from "../support/requests.js";
import { runToEnd, startCommand } from "../support/run-command.js";
import { newKey, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR_MS = 3_600_000;

describe("npm run backup", function () {
  this.timeout(60_000);
  let service: TestService;
  let copies: string;
  beforeEach(async () => {
    service = await startService();
    copies = mkdtempSync(join(dirname(service.dir), "entity-metrics-copies-"));
  });

  const backUp = (...args: string[]) => runToEnd("backup", args, { DATA_DIR: service.dir });
  const removed = async (index: number) => {
    const answer = await service.fetch(`/api/entity/user/email/person-${index}%40example.com`, { method: "DELETE" });
    return ((await answer.json()) as { data: { request_id: string } }).data.request_id;
  };
  const collect = (index: number) =>
    service.fetch("/collect/json/web", {
      method: "POST",
      json: { email: `person-${index}@example.com`, city: "Oslo" },
    });

  it("copies all writes acknowledged before it began, during other writes, to a folder that can be served", async () => {
    for (let index = 0; index < 20; index += 1) expect((await collect(index)).status).to.equal(200);
    await writePoints(service, [pointOf("segment", "s", 7, Date.now())]);
    const { id } = await newKey(service, ["entity:write"], Date.now(), { eventStreams: true });
    await service.service.stores.keys.addEventNames(id, ["signed_up"]);

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
    const values = await valuesOf(restored, { dimension: "segment", dimension_id: "s", range: "4h" });
    expect(values.map(([, value]) => value)).to.deep.equal([7]);
    expect((await restored.service.stores.keys.find(id))?.eventNames).to.deep.equal(["signed_up"]);
    await restored.stop();
  });

  it("copies the ledger to the folder of --ledger, and replaces earlier copies", async () => {
    for (let run = 0; run < 2; run += 1) {
      expect((await backUp(join(copies, "data"), "--ledger", join(copies, "ledger"))).code).to.equal(0);
    }
    expect(readdirSync(join(copies, "data")).sort()).to.deep.equal(["entities.db", "metrics.db"]);
    expect(readdirSync(join(copies, "ledger"))).to.deep.equal(["ledger.db"]);
  });

  it("does not bring back an entity erased after the copy, if it is restored as docs/backup.md describes", async () => {
    const dir = dataFolder();
    let real = await startReal(dir);
    const path = "/api/entity/user/email/person-1%40example.com";
    await real.fetch("/collect/json/web", { method: "POST", json: { email: "person-1@example.com" } });
    expect((await runToEnd("backup", [copies], { DATA_DIR: dir })).code).to.equal(0);
    expect((await real.fetch(path)).status).to.equal(200);
    expect((await real.fetch(path, { method: "DELETE" })).status).to.equal(200);
    await real.kill();
    // The deletion is stored here alone.
    expect(statSync(join(dir, "ledger.db-wal")).size).to.be.above(0);

    const [block] = commandBlocks("docs/backup.md").filter(({ run }) => run === "restore");
    const script = block?.script.replaceAll("copies/", `${copies}/`).replaceAll(/\bdata\//g, `${dir}/`) ?? "";
    expect(script).to.contain("entities.db-wal").and.to.not.contain("ledger");
    const { status, stderr } = spawnSync("sh", ["-ec", script], { encoding: "utf8" });
    expect(status, stderr).to.equal(0);
    real = await startReal(dir);
    expect((await real.fetch(path)).status).to.equal(404);
  });

  it("copies data that can be restored after the ledger has forgotten the deletions that were complete before", async () => {
    await collect(1);
    const id = await removed(1);
    const found = () => service.service.stores.ledger.find(id);
    await until("it is complete", async () => (await found())?.completedAt !== undefined);
    expect((await backUp(copies)).code).to.equal(0);
    await service.stop({ keep: true });

    const { dir } = service;
    const retention = { deletions: { retention: "1h" } };
    service = await startService(retention, { dir, clock: () => Date.now() + 25 * HOUR_MS });
    await until("it is forgotten", async () => (await found()) === undefined);
    await service.stop({ keep: true });

    for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `entities.db${end}`), { force: true });
    copyFileSync(join(copies, "entities.db"), join(dir, "entities.db"));
    service = await startService(retention, { dir });
    expect((await service.fetch("/api/entity/user/email/person-1%40example.com")).status).to.equal(404);
  });

  it("refuses folders that are links to the live files, and leaves the live files unchanged", async () => {
    await collect(1);
    const data = service.dir;
    const files = ["entities.db", "ledger.db", "metrics.db"];
    const at = (...names: readonly string[]) => join(copies, ...names);
    symlinkSync(data, at("link"));
    mkdirSync(join(data, "deep"));
    symlinkSync(join(data, "deep"), at("deep"));
    for (const folder of ["linked", "hard", "soft"]) mkdirSync(at(folder));
    for (const name of files) symlinkSync(join(data, name), at("linked", name));
    linkSync(join(data, "ledger.db"), at("hard", "ledger.db"));
    symlinkSync(join(data, "metrics.db"), at("soft", "metrics.db"));

    const inodes = () => files.map((name) => statSync(join(data, name)).ino);
    const before = inodes();
    const cases: [args: string[], dataDir?: string][] = [
      [[at("link")]],
      [[at("copies"), "--ledger", at("link")]],
      [[at("deep", "copies")]],
      [[data], at("link")],
      [[data], at("linked")],
      [[at("hard")]],
      [[at("soft")]],
    ];
    for (const [args, dataDir = data] of cases) {
      const { code, err } = await runToEnd("backup", args, { DATA_DIR: dataDir });
      expect(inodes(), `${args} of ${dataDir}`).to.deep.equal(before);
      expect(code, err).to.equal(1);
      expect(err).to.match(/outside the data folder|is a file of the running data/);
    }
  });

  /** Enough data for a copy in several steps. */
  async function stopWithLargeLedger(): Promise<void> {
    await service.stop({ keep: true });
    const ledger = new DatabaseSync(join(service.dir, "ledger.db"));
    ledger.exec("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(60000000))");
    ledger.close();
  }

  for (const [what, stop] of [
    ["by SIGINT", "SIGINT"],
    ["by SIGTERM", "SIGTERM"],
  ] as const) {
    it(`leaves no part of a copy when it is interrupted ${what}, and ends with 130`, async () => {
      await stopWithLargeLedger();
      const command = startCommand("backup", [copies], {
        DATA_DIR: service.dir,
        FAILPOINT: "copied-pages",
        FAILPOINT_SIGNAL: "SIGSTOP",
      });
      await until("the ledger is being copied", () => existsSync(join(copies, "ledger.db.partial")));
      command.child.kill(stop);
      // The stopped process acts on the signal when it continues.
      await until("it ended", () => !command.child.kill("SIGCONT") || command.child.exitCode !== null);
      expect(await command.ended, command.err()).to.equal(130);
      expect(command.err()).to.match(/Stopped/);
      expect(readdirSync(copies).filter((name) => name.startsWith("ledger"))).to.deep.equal([]);
    });
  }

  it("replaces the files of a killed backup", async () => {
    await stopWithLargeLedger();
    await runToEnd("backup", [copies], { DATA_DIR: service.dir, FAILPOINT: "copied-pages" });
    expect(readdirSync(copies)).to.include("ledger.db.partial");
    expect((await backUp(copies)).code).to.equal(0);
    expect(readdirSync(copies).sort()).to.deep.equal(["entities.db", "ledger.db", "metrics.db"]);
  });

  it("reports a file that is not a database in one line", async () => {
    const damaged = join(copies, "damaged");
    mkdirSync(damaged);
    writeFileSync(join(damaged, "entities.db"), "not a database".repeat(500));
    const { code, out, err } = await runToEnd("backup", [join(copies, "out")], { DATA_DIR: damaged });
    expect([code, out]).to.deep.equal([1, ""]);
    expect(err).to.equal(
      `${join(damaged, "entities.db")} cannot be copied: it is not a database, or it is damaged (put a backup in its place)\n`,
    );
  });

  it("leaves no part of a failed copy", async () => {
    await service.stop({ keep: true });
    mkdirSync(join(copies, "ledger.db"));
    mkdirSync(join(copies, "ledger.db", "in-the-way"));
    const { code, err } = await backUp(copies);
    expect(code, err).to.equal(1);
    expect(readdirSync(copies).sort()).to.deep.equal(["entities.db", "ledger.db", "metrics.db"]);
  });

  it("ends with 2 for wrong arguments and with 1 for wrong folders, and makes no folder", async () => {
    const data = service.dir;
    const cases: [args: string[], code: number, message: RegExp][] = [
      [[], 2, /missing required argument/],
      [[""], 2, /has an empty name/],
      [[copies, "--ledger", ""], 2, /has an empty name/],
      [[data], 1, /outside the data folder/],
      [[join(data, "copies")], 1, /outside the data folder/],
      [[copies, "--ledger", join(data, "a", "b")], 1, /outside/],
      [["/dev/null/copies"], 1, /cannot be made/],
    ];
    for (const [args, code, message] of cases) {
      const answer = await backUp(...args);
      expect(answer.code, args.join(" ")).to.equal(code);
      expect(answer.err).to.match(message);
    }
    expect(existsSync(join(data, "copies")) || existsSync(join(data, "a"))).to.equal(false);
  });
});
