import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { systemClock } from "../src/clock.js";
import { compose } from "../src/compose.js";
import { readSettings } from "../src/config/settings.js";
import { firstLines, startErrorText } from "../src/config/start-output.js";
import { openLog } from "../src/log.js";
import { serviceClock } from "../src/service-clock.js";
import { type ChildService, runs, startChild } from "./support/child-service.js";
import { dataFolder } from "./support/data-folder.js";
import { root } from "./support/source-tree.js";
import { until } from "./support/until.js";

const adminKey = "em_bench_0123456789abcdef0123456789abcdef";

describe("a start of the service", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  const start = (environment: Record<string, string> = {}) =>
    startChild({ DATA_DIR: join(dir, "data"), ...environment });
  const stop = async (service: ChildService, signal: NodeJS.Signals = "SIGTERM") => {
    service.child.kill(signal);
    return service.ended;
  };
  /** Waits for the end of a start that must fail, with exit code 1 and one line, which is returned. */
  const failure = async (service: ChildService): Promise<string> => {
    expect(await service.ended, service.err()).to.equal(1);
    expect(service.err()).to.match(/^[^\n]+\n$/);
    expect(service.out()).to.equal("");
    return service.err();
  };

  it("continues when stdout is closed", async () => {
    const env = { ...process.env, NODE_ENV: "test", PORT: "0", LOG_LEVEL: "error", DATA_DIR: join(dir, "data") };
    const child = spawn(process.execPath, runs("main"), {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    child.stdout?.destroy();
    const ended = once(child, "exit");
    const [{ listens }] = (await once(child, "message")) as [{ listens: string }];
    expect((await fetch(`${listens}/health`)).status).to.equal(200);
    child.kill("SIGTERM");
    expect(await ended).to.deep.equal([0, null]);
  });

  it("stores a first key with every scope in a file of its owner if there is no terminal, and never prints it", async () => {
    const service = start({ LOG_LEVEL: "trace" });
    const address = await service.listening;
    const file = join(dir, "data", "first-key");
    const key = readFileSync(file, "utf8").trim();
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(service.out()).to.contain(file);
    expect(service.out() + service.err()).to.not.contain(key);
    const answer = await fetch(`${address}/api/deletion`, { headers: { Authorization: key } });
    expect(answer.status).to.equal(200);
    expect(await stop(service)).to.equal(0);
    const second = start();
    await second.listening;
    await stop(second);
    expect(second.out()).to.match(/^entity-metrics listens on \S+\n$/);
    expect(readFileSync(file, "utf8").trim()).to.equal(key);
  });

  it("creates no key if ADMIN_KEY is set", async () => {
    const service = start({ ADMIN_KEY: adminKey });
    await service.listening;
    await stop(service);
    expect(service.out()).to.match(/^entity-metrics listens on \S+\n$/);
  });

  it("warns of an unknown name in the environment that resembles a setting, without its value", async () => {
    const service = start({ LOG_LEVEL: "warn", METRIC_RETENTION: "zqcanaryqz" });
    await service.listening;
    const [line = "{}"] = service.err().split("\n");
    expect(JSON.parse(line)).to.include({
      level: 40,
      name: "METRIC_RETENTION",
      nearest: "METRICS_RETENTION",
      msg: "unknown environment variable METRIC_RETENTION; did you mean METRICS_RETENTION?",
    });
    expect(service.err()).to.not.contain("zqcanaryqz");
    expect(await stop(service)).to.equal(0);
  });

  it("prints a key on a terminal in lines to paste", () => {
    const lines = firstLines("http://h:1", { shown: "em_a_b" }, (key) => (key === "em_a_b" ? "c0de" : "none"));
    expect(lines.match(/em_a_b/g)).to.have.length(3);
    expect(lines).to.include("  http://h:1/dashboard#code=c0de\n");
    expect(lines.match(/^ {2}curl /gm)).to.have.length(3);
  });

  it("prints an address that can be reached if the service listens on every one", () => {
    for (const listens of ["http://0.0.0.0:1", "http://[::]:1"]) {
      expect(firstLines(listens, { file: "/f" }, () => "none").match(/'http:\/\/127\.0\.0\.1:1\//g)).to.have.length(3);
    }
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it(`ends with exit code 0 on ${signal}, with empty journals`, async () => {
      const service = start();
      await service.listening;
      expect(await stop(service, signal)).to.equal(0);
      for (const name of ["entities", "metrics", "ledger"]) {
        expect(statSync(join(dir, "data", `${name}.db`)).size).to.be.above(0);
        expect(statSync(join(dir, "data", `${name}.db-wal`), { throwIfNoEntry: false })?.size ?? 0).to.equal(0);
      }
    });
  }

  it("ends with exit code 0 on SIGTERM while it waits for a server", async function () {
    this.timeout(100_000);
    const service = start({
      LIMITS_STORE_DEADLINE_MS: "1000",
      ENTITIES_URL: "mongodb://127.0.0.1:9/entities",
      PEPPER: "a pepper of more than 32 bytes, for a test",
      LOG_LEVEL: "warn",
    });
    await until("it waits", () => service.err().includes("is unreachable; retrying"), 90_000);
    expect(await stop(service)).to.equal(0);
  });

  it("refuses a port that is taken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    expect(await failure(start({ PORT: String(port) }))).to.contain(`Port ${port} is in use`);
    other.close();
  });

  it("refuses a failpoint unless NODE_ENV is test, before anything is opened", async () => {
    for (const NODE_ENV of ["", "production"]) {
      expect(await failure(start({ FAILPOINT: "deletion-planned", NODE_ENV }))).to.equal(
        "FAILPOINT kills the process and is for tests: remove it, or set NODE_ENV=test\n",
      );
    }
    expect(existsSync(join(dir, "data"))).to.equal(false);
    await start({ FAILPOINT: "deletion-planned" }).listening;
  });

  it("refuses a folder that another service serves", async () => {
    await start().listening;
    expect(await failure(start())).to.match(/^Another entity-metrics service is running on .*data/);
  });

  describe("is refused in one line:", () => {
    const data = () => join(dir, "data");
    /** Starts a service in this process, and returns its address or the line of its failure. */
    const started = async (environment: Record<string, string> = {}): Promise<string> => {
      const settings = readSettings({ DATA_DIR: data(), PORT: "0", LOG_LEVEL: "silent", ...environment });
      try {
        const service = await compose(settings, serviceClock(systemClock), openLog("silent"));
        return await service.listen().finally(() => service.stop());
      } catch (error) {
        return startErrorText(error, settings);
      }
    };

    it("for an address that this machine does not have", async () => {
      expect(await started({ HOST: "192.0.2.1" })).to.contain("192.0.2.1 is not an address of this machine");
    });

    it("for a folder that cannot be written to", async () => {
      if (process.getuid?.() === 0) {
        // Nothing is read-only for root; a file in the folder's place is the same obstacle.
        writeFileSync(data(), "");
      } else {
        mkdirSync(data());
        chmodSync(data(), 0o500);
      }
      expect(await started()).to.match(/(cannot be written to|cannot be made|is not a folder)/);
    });

    it("for a folder that cannot be made", async () => {
      for (const DATA_DIR of ["/dev/null/data", "/proc/entity-metrics/data"])
        expect(await started({ DATA_DIR })).to.match(/cannot be made \(E\w+\)/);
    });

    it("for a pepper that is not the pepper of the data", async () => {
      expect(await started({ PEPPER: "a pepper of more than thirty-two bytes" })).to.match(/^http:/);
      const message = await started({ PEPPER: "another pepper of more than 32 bytes" });
      expect(message).to.match(/^PEPPER is not the pepper of the data .*/);
      expect(message).to.not.contain("another pepper of");
      expect(await started()).to.match(/pepper is missing/);
    });

    it("for a pepper file that is damaged or gone", async () => {
      expect(await started()).to.match(/^http:/);
      const file = join(data(), "pepper");
      writeFileSync(file, "short");
      expect(await started()).to.contain("fewer than 32 bytes");
      writeFileSync(file, Buffer.alloc(32));
      expect(await started()).to.contain("is not the pepper");
      rmSync(file);
      expect(await started()).to.contain("is missing");
    });

    it("for a damaged file", async () => {
      for (const name of ["entities.db", "metrics.db", "ledger.db"]) {
        const DATA_DIR = join(dir, name);
        mkdirSync(DATA_DIR);
        writeFileSync(
          join(DATA_DIR, name),
          "this is not a database, but it is long enough to look like one\n".repeat(100),
        );
        expect(await started({ DATA_DIR })).to.match(new RegExp(`${name} is damaged, or not a database`));
      }
    });

    it("for an unknown engine, without the URL", async () => {
      for (const name of ["ENTITIES_URL", "METRICS_URL", "JOBS_URL"]) {
        const message = await started({ [name]: "postgres://user:hush@host/db" });
        expect(message).to.match(new RegExp(`^${name} has an unknown engine. Allowed: sqlite:, `));
        expect(message).to.not.contain("hush");
      }
    });
  });

  it("falls back to the SQLite of Node if the native build does not load, or reports that Node has none", async () => {
    const hooks =
      'export async function resolve(name, context, next) { if (name === "@photostructure/sqlite") throw new Error("no build"); return next(name, context); }';
    const preload = `import { register } from "node:module"; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});`;
    const service = startChild({ DATA_DIR: join(dir, "data") }, [
      "--import",
      "tsx",
      "--import",
      `data:text/javascript,${encodeURIComponent(preload)}`,
      "src/main.ts",
    ]);
    const [major = 0] = process.versions.node.split(".").map(Number);
    if (major >= 24) await service.listening;
    else
      expect(await failure(service)).to.match(
        /^SQLite cannot be loaded: there is no build of .* Node .* has none of its own/,
      );
  });

  it("stores the files of each engine in the folder of its URL", async () => {
    const service = start({ ENTITIES_URL: `sqlite:${join(dir, "e")}`, METRICS_URL: `sqlite:${join(dir, "m")}` });
    await service.listening;
    await stop(service);
    for (const path of ["e/entities.db", "e/ledger.db", "m/metrics.db", "data/pepper"])
      expect(statSync(join(dir, path)).size).to.be.above(0);
  });
});
