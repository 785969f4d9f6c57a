import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { root } from "./support/source-tree.js";
import { until } from "./support/until.js";

describe("the scripts", function () {
  this.timeout(60_000);
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  /** A small project with the scripts and the dependencies of this one. */
  const copyProject = () => {
    for (const name of ["package.json", "tsconfig.json", "tsconfig.build.json", "tsconfig.browser.json", "scripts"])
      cpSync(join(root, name), join(dir, name), { recursive: true });
    for (const name of ["node_modules", "package-lock.json"]) symlinkSync(join(root, name), join(dir, name));
    for (const [name, text] of Object.entries({
      "clock.ts": "export const now = Date.now;\n",
      "commands/key.ts": 'process.stdout.write("Usage: key\\n");\n',
      "client/client.ts": 'export type { Stream } from "./types.js";\n',
      "client/types.ts": "export type Stream = { name: string };\n",
      "dashboard/main.tsx": 'document.title = "a";\n',
      "dashboard/shared.ts": "export {};\n",
      "dashboard/dashboard.css": "",
    })) {
      mkdirSync(dirname(join(dir, "src", name)), { recursive: true });
      writeFileSync(join(dir, "src", name), text);
    }
  };
  const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: dir, encoding: "utf8" });

  it("build missing output, and rebuild only when a source has changed", () => {
    copyProject();
    const command = ["scripts/command.mjs", "key", "--help"];
    const first = run(...command);
    expect(first.status, first.stderr).to.equal(0);
    expect(first.stderr).to.match(/^Building \.\.\. [\d.]+ s\n$/);
    expect(first.stdout).to.match(/^Usage: /);
    expect(run(...command).stderr).to.equal("");

    writeFileSync(join(dir, "dist", "left-over.js"), "");
    utimesSync(join(dir, "src", "clock.ts"), 1, 1);
    expect(run(...command).stderr).to.match(/^Building/);
    expect(existsSync(join(dir, "dist", "left-over.js"))).to.equal(false);
  });

  it("print the compiler's error and keep the last build if a source does not compile", () => {
    copyProject();
    writeFileSync(join(dir, "src", "clock.ts"), "export const wrong: number = 'text';\n");
    const { status, stderr } = run("scripts/start.mjs");
    expect(status).to.equal(1);
    expect(stderr).to.match(/src\/clock\.ts.*error TS2322[\s\S]*Building failed\n$/);
  });

  for (const name of ["start", "demo"]) {
    it(`refuse an unknown argument of ${name} in one line`, () => {
      const { status, stderr, stdout } = run(join(root, `scripts/${name}.mjs`), "--bogus");
      expect([status, stdout]).to.deep.equal([2, ""]);
      expect(stderr).to.match(/^npm .* takes no argument but --help.*\n$/);
    });
  }

  for (const [name, call] of [
    ["start", "npm start -- [options]"],
    ["demo", "npm run demo -- [options]"],
    ["test", "npm test -- [options] [file...]"],
    ["test-node", "npm run test:node -- [options] [version...] [file...]"],
    ["test-dates", "npm run test:dates -- [options] [date...] [file...]"],
    ["bench/run", "npm run bench -- [options]"],
  ] as const) {
    it(`print help in the form of the commands, and the version: ${name}`, () => {
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
      const { status, stderr, stdout } = run(join(root, `scripts/${name}.mjs`), "--version");
      expect([status, stdout, stderr]).to.deep.equal([0, `${version}\n`, ""]);
      for (const flag of ["--help", "-h"]) {
        const help = run(join(root, `scripts/${name}.mjs`), flag);
        expect([help.status, help.stderr]).to.deep.equal([0, ""]);
        expect(help.stdout.split("\n").slice(0, 2)).to.deep.equal([`Usage: ${call}`, ""]);
        expect(help.stdout)
          .to.match(/^Options:$/m)
          .and.match(/^ {2}--version +version of entity-metrics$/m)
          .and.match(/^ {2}-h, --help +display help for command$/m);
      }
    });
  }

  it("refuse an older Node in one line", () => {
    copyProject();
    const description = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    writeFileSync(join(dir, "package.json"), JSON.stringify({ ...description, engines: { node: ">=99.1.0" } }));
    const { status, stderr } = run("scripts/start.mjs");
    expect(status).to.equal(1);
    expect(stderr).to.equal(`entity-metrics needs Node 99.1.0 or newer; this is Node ${process.versions.node}\n`);
  });

  it("do not fill the folder of a service that is no demo", () => {
    writeFileSync(join(dir, "ledger.db"), "");
    const env = { ...process.env, DATA_DIR: dir, PORT: "0" };
    const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/demo.mjs")], { env, encoding: "utf8" });
    expect(status).to.equal(1);
    expect(stderr).to.contain(`${dir} is the folder of a service that is no demo`);
    expect(existsSync(join(dir, "demo-key"))).to.equal(false);
  });

  it("fill the demo up to now on each start, with its own stores, and print requests that it answers", async () => {
    const elsewhere = {
      ENTITIES_URL: "mongodb://127.0.0.1:1/entities",
      METRICS_URL: "influxdb://127.0.0.1:1/?org=o&bucket=b",
      JOBS_URL: "redis://127.0.0.1:1",
      PEPPER: "0123456789abcdef0123456789abcdef",
      ROLES: "api",
      DELETIONS_TARGETS: '[{"name":"crm","url":"http://127.0.0.1:1","token":"secret"}]',
    };
    const own = { DATA_DIR: join(dir, "demo"), PORT: "0", LOG_LEVEL: "error" };
    const environment = { ...process.env, ...elsewhere, ...own };
    for (const time of ["first", "second"]) {
      const demo = spawn(process.execPath, [join(root, "scripts/demo.mjs")], { env: environment });
      let out = "";
      let err = "";
      demo.stderr.on("data", (chunk) => {
        err += chunk;
      });
      const closed = new Promise<number | null>((resolve) => demo.once("close", resolve));
      await new Promise<void>((resolve, reject) => {
        demo.stdout.on("data", (chunk) => {
          out += chunk;
          if (out.includes("in a browser")) resolve();
        });
        closed.then(() => reject(new Error(`the demo ended: ${err}`)), reject);
      });
      const key = readFileSync(join(dir, "demo", "demo-key"), "utf8").trim();
      const addresses = [...out.matchAll(/curl '([^']+)'/g)].map((match) => match[1] ?? "");
      expect(addresses).to.have.length(3);
      for (const address of addresses)
        expect((await fetch(address, { headers: { Authorization: key } })).status, address).to.equal(200);
      expect(out).to.match(/ http:\S+\/dashboard#code=[0-9a-f]{32}\n/);
      const listed = async (path: string) => {
        const response = await fetch(new URL(path, addresses[0]), { headers: { Authorization: key } });
        return ((await response.json()) as { data: Record<string, string>[] }).data;
      };
      const streams = (await listed("/api/stream")).map(({ stream }) => stream);
      expect(streams, time).to.have.members(["web", "mobile", "email"]);
      const erased = async () => (await listed("/api/deletion?state=completed")).length;
      await until("deletions are completed", async () => (await erased()) === (time === "first" ? 2 : 4));
      const open = async () => (await listed("/api/deletion?state=open")).map(({ stuck, problem }) => [stuck, problem]);
      const wanted = [
        [false, "an earlier request is open"],
        [true, "crm answered 503"],
      ];
      await until("one deletion is stuck, and one waits for it", async () => isDeepStrictEqual(await open(), wanted));
      demo.kill("SIGTERM");
      expect(await closed).to.equal(0);
    }
  });

  it("leave no service running when the demo is killed", async () => {
    const script = spawn(process.execPath, [join(root, "scripts/demo.mjs")], {
      env: { ...process.env, DATA_DIR: join(dir, "data"), PORT: "0" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    await new Promise<void>((resolve) => {
      script.stdout.on("data", (chunk) => {
        if (String(chunk).includes("listens on")) resolve();
      });
    });
    // The service also writes to this pipe: it closes when both processes have ended.
    const closed = new Promise((resolve) => script.once("close", resolve));
    script.kill("SIGKILL");
    await closed;
  });
});
