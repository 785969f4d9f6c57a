import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { root } from "./support/source-tree.js";

describe("npm run bench", function () {
  this.timeout(120_000);
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  const bench = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, "scripts/bench/run.mjs"), ...args], {
      encoding: "utf8",
      env: { ...process.env, TMPDIR: dir, TEMP: dir, TMP: dir },
    });

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
