import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { runToEnd, startCommand } from "../support/run-command.js";
import { root } from "../support/source-tree.js";

describe("every command", function () {
  this.timeout(60_000);
  const { version, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const commands = readdirSync(join(root, "src/commands"))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .filter((name) => scripts[name]?.includes("command.mjs"));

  it("ends with 0 and no message when the reader of its help closes the pipe", async () => {
    const { child, ended, err } = startCommand("key", ["--help"]);
    child.stdout?.destroy();
    expect([await ended, err()]).to.deep.equal([0, ""]);
  });

  for (const name of commands) {
    it(`prints its usage in the first line of its help, and a version: ${name}`, async () => {
      expect(await runToEnd(name, ["--version"])).to.deep.equal({ code: 0, out: `${version}\n`, err: "" });
      const { code, out } = await runToEnd(name, ["--help"]);
      expect([code, out.startsWith(`Usage: npm run ${name} -- [options]`)], out).to.deep.equal([0, true]);
      expect(out).to.contain("--version");
    });
  }
});
