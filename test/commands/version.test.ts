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

  for (const name of commands) {
    it(`has its usage as every other in the first line of its help: ${name}`, async () => {
      const { out } = await runToEnd(name, ["--help"]);
      expect(out.split("\n")[0]?.startsWith(`Usage: npm run ${name} -- [options]`), out).to.equal(true);
    });

    it(`ends quietly when the reader of its help has gone: ${name}`, async () => {
      const { child, ended, err } = startCommand(name, ["--help"]);
      child.stdout?.destroy();
      expect([await ended, err()]).to.deep.equal([0, ""]);
    });

    it(`says its version and explains itself: ${name}`, async () => {
      expect(await runToEnd(name, ["--version"])).to.deep.equal({ code: 0, out: `${version}\n`, err: "" });
      const { code, out } = await runToEnd(name, ["--help"]);
      expect([code, out.split("\n")[0]]).to.deep.equal([0, out.match(/^Usage: .*/)?.[0]]);
      expect(out).to.contain("--version");
    });
  }
});
