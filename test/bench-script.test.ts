import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { onServers } from "./support/servers.js";
import { root } from "./support/source-tree.js";

describe("npm run bench", function () {
  this.timeout(120_000);
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  const benchWith = (environment: NodeJS.ProcessEnv, ...args: string[]) =>
    spawnSync(process.execPath, [join(root, "scripts/bench/run.mjs"), ...args], {
      encoding: "utf8",
      env: { ...environment, TMPDIR: dir, TEMP: dir, TMP: dir },
    });
  const withoutServers = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TEST_")));
  const bench = (...args: string[]) => benchWith(withoutServers, ...args);

  it("checks the answers, prints a row for each request, and leaves nothing behind", () => {
    const { status, stdout, stderr } = bench("--series", "5", "--days", "3", "--secs", "0.2");
    expect(status, stderr).to.equal(0);
    // 5 series by 2 h and 6 h, one by 24 h, over 3 days: each of two servers, with answers kept and not; then the GET.
    expect(stdout).to.match(new RegExp(`^${4 * (5 * 36 + 5 * 12 + 3) + 2 * 3} values checked`, "m"));
    const labels = [...stdout.matchAll(/^\| (\w.*?) +\|/gm)].map((match) => match[1]);
    expect(labels).to.deep.equal([
      "request",
      "W1: 5 series, 3 d, 2h, sum",
      "W2: 5 series, 3 d, 6h, max",
      "W3: 1 series, 3 d, 24h, sum",
      "W1: 5 series, 3 d, 2h, sum, answers not kept",
      "W2: 5 series, 3 d, 6h, max, answers not kept",
      "W3: 1 series, 3 d, 24h, sum, answers not kept",
      "GET: 1 series, 3 d, 24h, answered 304",
      "blocks, a thousand points",
    ]);
    expect(readdirSync(dir).filter((name) => name.startsWith("entity-metrics-bench-"))).to.deep.equal([]);
  });

  it("says which servers it was not told of", () => {
    const { stderr } = bench("--series", "1", "--days", "1", "--secs", "0.05");
    expect(stderr).to.match(/not measured on servers: TEST_MONGODB_URL, .* not set/);
  });

  onServers(["mongodb", "influxdb", "bullmq"], "on servers", () => {
    it("compares the service with itself embedded, with a Flux query, and with the driver of MongoDB", () => {
      const { status, stdout, stderr } = benchWith(process.env, "--series", "5", "--days", "3", "--secs", "0.1");
      expect(status, stderr).to.equal(0);
      const [, table = ""] = stdout.split("| on servers |");
      const lines = table.trim().split("\n").slice(2);
      expect(lines.map((line) => line.split(" | ")[3])).to.deep.equal([
        "embedded",
        "embedded",
        "insertMany",
        "insertMany, same indexes",
        "insertMany",
        "insertMany, same indexes",
        "insertOne",
        "started",
        "findOne",
        "insertOne",
        "one Flux query",
      ]);
      expect(lines[2]).to.match(/^\| 50 messages, new profiles \|/);
      expect(readdirSync(dir).filter((name) => name.startsWith("entity-metrics-bench-"))).to.deep.equal([]);
    });
  });

  it("refuses options that it does not know", () => {
    for (const args of [
      ["--speed", "9"],
      ["--secs", "0"],
      ["--series", "x"],
    ]) {
      const { status, stderr } = bench(...args);
      expect(status, args.join(" ")).to.equal(2);
      expect(stderr).to.contain("npm run bench -- ");
    }
  });
});
