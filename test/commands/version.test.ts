import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { runToEnd } from "../support/run-command.js";
import { root } from "../support/source-tree.js";

describe("every command", function () {
  this.timeout(60_000);
  const { version, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const commands = readdirSync(join(root, "src/commands"))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .filter((name) => name === "seed" || scripts[name]?.includes("command.mjs"));

  for (const name of commands) {
    it(`says its version and explains itself: ${name}`, async () => {
      expect(await runToEnd(name, ["--version"])).to.deep.equal({ code: 0, out: `${version}\n`, err: "" });
      const { code, out } = await runToEnd(name, ["--help"]);
      expect([code, out.split("\n")[0]]).to.deep.equal([0, out.match(/^Usage: .*/)?.[0]]);
      expect(out).to.contain("--version");
    });
  }
});
