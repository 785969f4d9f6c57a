import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { root } from "./support/source-tree.js";

describe("npm run bench", function () {
  this.timeout(600_000);
  let dir: string;
  before(() => {
    dir = dataFolder();
  });

  const bench = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, "scripts/bench/run.mjs"), ...args], {
      encoding: "utf8",
      env: { ...process.env, TMPDIR: dir, TEMP: dir, TMP: dir },
    });

  it("checks the responses, prints a row for each part, and leaves no file behind", () => {
    const sizes = "--series 5 --days 3 --secs 0.03 --people 200 --due 200 --overload-secs 0.3";
    const { status, stdout, stderr } = bench(...sizes.split(" "));
    expect(status, stderr).to.equal(0);

    // 3 days by 2 h, 6 h and 24 h: W1 and W2 about 5 series, W3 and GET about one.
    const [w1, w2, w3] = [5 * 36, 5 * 12, 3];
    const reads = 2 * (2 * (w1 + w2 + w3) + 50 * w1 + w3 + w1);
    const writes = 2 * 3 * (5 * 72);
    expect(stdout).to.match(new RegExp(`^${reads + writes} values checked`, "m"));

    const parts = new Set([...stdout.matchAll(/^\| (\w+)/gm)].slice(1).map(([, part]) => part));
    expect([...parts]).to.have.members(["reads", "writes", "entities", "rules", "overload"]);
    expect(readdirSync(dir).filter((name) => name.startsWith("entity-metrics-bench-"))).to.deep.equal([]);
  });
});
