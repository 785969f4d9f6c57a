import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { onServers } from "./support/servers.js";
import { root } from "./support/source-tree.js";

describe("npm run bench", function () {
  this.timeout(600_000);
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
  const leftBehind = () => readdirSync(dir).filter((name) => name.startsWith("entity-metrics-bench-"));

  /** Cells of the lines of the table. */
  const linesOf = (stdout: string) =>
    [...stdout.matchAll(/^\| (.+) \|$/gm)]
      .slice(1)
      .map(([, cells = ""]) => cells.split(" | ").map((cell) => cell.trim()));

  it("checks the answers, prints a line for each comparison, keeps them in its history, and leaves nothing else behind", () => {
    const history = join(dir, "history.jsonl");
    const sizes = ["--series", "5", "--days", "3", "--secs", "0.1", "--people", "200", "--overload-secs", "0.3"];
    const { status, stdout, stderr } = bench(...sizes, "--history", history);
    expect(status, stderr).to.equal(0);

    // 3 days by 2 h, 6 h and 24 h: W1 and W2 about 5 series, W3 and GET about one.
    const [w1, w2, w3] = [5 * 36, 5 * 12, 3];
    const reads = 2 * (2 * (w1 + w2 + w3) + 50 * w1 + w3 + w1);
    const writes = 2 * 3 * (5 * 72);
    // W1 over 5, 16, 50 and again 50 series of 3 days; over 5 series of 3, 6 and 18 days, of which it reads 7.
    const scale = 25 * (36 * (5 + 16 + 20 + 20) + 5 * (36 + 72 + 84));
    expect(stdout).to.match(new RegExp(`^${reads + writes + scale} values checked`, "m"));

    const lines = linesOf(stdout);
    const compared = lines.map(([part, what, , , beside]) => `${part}: ${what} | ${beside}`);
    for (const read of [
      "W1: 5 series, 3 d, 2h, sum",
      "W2: 5 series, 3 d, 6h, max",
      "W3: 1 series, 3 d, 24h, sum",
      "W1: 5 series, 3 d, 2h, sum, answers not kept",
      "W2: 5 series, 3 d, 6h, max, answers not kept",
      "W3: 1 series, 3 d, 24h, sum, answers not kept",
      "W4: W1, 50 batches, 32 connections",
      "GET: 1 series, 3 d, 24h, answered 304",
    ]) {
      expect(compared).to.include.members([`reads: ${read} | rows in SQLite`, `reads: ${read} | Koa alone`]);
    }
    expect(compared).to.include.members([
      "reads: W2, 1000 identical, nothing in memory | the same again",
      "reads: W1, nothing in memory | rows in SQLite",
      "reads: W5: 5 series, range 7d, 2h, sum, while points come | rows in SQLite",
      ...["bulk, blocks of a week", "steady, blocks", "steady, flat JSON", "steady, line protocol"].map(
        (what) => `writes: ${what} | rows in SQLite`,
      ),
      "entities: collect, 500 messages a request, new profiles | rows in SQLite",
      "entities: collect, 500 messages a request, known profiles | rows in SQLite",
      "entities: read by identity | Koa alone",
      "entities: DELETE acknowledged, 64 at once | rows in SQLite",
      "overload: goodput, 10 times the peak for 0.3 s | promised",
      "overload: served again after, 10 times the peak for 0.3 s | promised",
      "overload: /health p99, 10 times the peak for 0.3 s | promised",
      "scale: W1, 50 series | 5 series",
      "scale: W1, 18 days | 3 days",
      "scale: read by identity, 200 profiles | 2 profiles",
      "scale: start, 200 profiles | promised",
    ]);

    const [kept = "", ...others] = readFileSync(history, "utf8").trim().split("\n");
    expect(others).to.deep.equal([]);
    expect(JSON.parse(kept).lines).to.have.lengthOf(lines.length);
    expect(leftBehind()).to.deep.equal([]);
  });

  it("says which servers it was not told of", () => {
    const { stderr } = bench("--only", "servers", "--history", join(dir, "none.jsonl"));
    expect(stderr).to.match(/not measured on servers: TEST_MONGODB_URL, .* not set/);
  });

  onServers(["mongodb", "influxdb", "bullmq"], "on servers", () => {
    it("compares the service with itself embedded, with a Flux query, and with the driver of MongoDB", () => {
      const sizes = ["--only", "servers", "--series", "5", "--days", "3", "--secs", "0.1"];
      const { status, stdout, stderr } = benchWith(process.env, ...sizes, "--history", join(dir, "servers.jsonl"));
      expect(status, stderr).to.equal(0);
      const lines = linesOf(stdout);
      expect(lines.map((cells) => cells[4])).to.deep.equal([
        "embedded",
        "embedded",
        "insertMany",
        "insertMany, same indexes",
        "insertMany",
        "insertMany, same indexes",
        "insertMany",
        "insertMany, same indexes",
        "insertOne",
        "started",
        "findOne",
        "findOne",
        "insertOne",
        "one Flux query",
        "one Flux query",
        "the client's batches",
      ]);
      expect(lines[2]?.[1]).to.equal("50 messages, new profiles");
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
