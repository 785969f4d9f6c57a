import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { onServers } from "./support/servers.js";
import { root } from "./support/source-tree.js";

describe("npm run bench", function () {
  this.timeout(600_000);
  let dir: string;
  before(() => {
    dir = dataFolder();
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  const benchWith = (environment: NodeJS.ProcessEnv, ...args: string[]) =>
    spawnSync(process.execPath, [join(root, "scripts/bench/run.mjs"), ...args], {
      encoding: "utf8",
      env: { ...environment, TMPDIR: dir, TEMP: dir, TMP: dir },
    });
  const withoutServers = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TEST_")));
  const bench = (...args: string[]) => benchWith(withoutServers, ...args);
  const leftBehind = () => readdirSync(dir).filter((name) => name.startsWith("entity-metrics-bench-"));

  /** Cells of the lines of the table. */
  const linesOf = (stdout: string) =>
    [...stdout.matchAll(/^\| (.+) \|$/gm)]
      .slice(1)
      .map(([, cells = ""]) => cells.split(" | ").map((cell) => cell.trim()));

  it("checks the answers, prints a line for each comparison, keeps them in its history, and leaves nothing else behind", () => {
    const history = join(dir, "history.jsonl");
    const sizes = ["--series", "5", "--days", "3", "--secs", "0.03", "--people", "200", "--overload-secs", "0.3"];
    const { status, stdout, stderr } = bench(...sizes, "--history", history);
    expect(status, stderr).to.equal(0);

    // 3 days by 2 h, 6 h and 24 h: W1 and W2 about 5 series, W3 and GET about one.
    const [w1, w2, w3] = [5 * 36, 5 * 12, 3];
    const reads = 2 * (2 * (w1 + w2 + w3) + 50 * w1 + w3 + w1);
    const writes = 2 * 3 * (5 * 72);
    // W1 over 5, 16, 50 and again 50 series of 3 days; over 5 series of 3, 6 and 18 days, of which it reads 7.
    const scale = 25 * (36 * (5 + 16 + 20 + 20) + 5 * (36 + 72 + 84));
    const dashboards = 2 * 3 * w1;
    expect(stdout).to.match(new RegExp(`^${reads + writes + scale + dashboards} values checked`, "m"));

    const lines = linesOf(stdout);
    const parts = new Set(lines.map(([part]) => part));
    expect([...parts]).to.have.members(["reads", "writes", "entities", "overload", "scale"]);

    const [kept = "", ...others] = readFileSync(history, "utf8").trim().split("\n");
    expect(others).to.deep.equal([]);
    expect(JSON.parse(kept).lines).to.have.lengthOf(lines.length);
    expect(leftBehind()).to.deep.equal([]);
  });

  it("names the servers whose variables are not set", () => {
    const { stderr } = bench("--only", "servers", "--history", join(dir, "none.jsonl"));
    expect(stderr).to.match(/not measured on servers: TEST_MONGODB_URL, .* not set/);
  });

  onServers(["mongodb", "influxdb", "bullmq"], "on servers", () => {
    it("compares the service with itself embedded, with a Flux query, and with the driver of MongoDB", () => {
      const sizes = ["--only", "servers", "--series", "5", "--days", "3", "--secs", "0.03"];
      const { status, stdout, stderr } = benchWith(process.env, ...sizes, "--history", join(dir, "servers.jsonl"));
      expect(status, stderr).to.equal(0);
      const compared = new Set(linesOf(stdout).map((cells) => cells[4]));
      expect([...compared]).to.include.members(["embedded", "insertMany", "findOne", "one Flux query"]);
      expect(leftBehind()).to.deep.equal([]);
    });
  });

  it("refuses options that it does not know", () => {
    for (const args of [
      ["--speed", "9"],
      ["--secs", "0"],
      ["--series", "x"],
      ["--only", "reads,everything"],
      ["--only", "reads", "--draw"],
    ]) {
      const { status, stderr } = bench(...args);
      expect(status, args.join(" ")).to.equal(2);
      expect(stderr).to.contain("npm run bench -- ");
    }
  });
});
