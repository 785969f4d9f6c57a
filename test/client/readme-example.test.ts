import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { pageText } from "../support/readme.js";
import { startReal } from "../support/real-service.js";
import { adminKey } from "../support/service.js";
import { root } from "../support/source-tree.js";

describe("the example of the client in docs/write-metrics.md", function () {
  this.timeout(120_000);
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  const run = (...args: string[]) =>
    spawnSync(process.execPath, args, { cwd: dir, encoding: "utf8", env: { ...process.env, KEY: adminKey } });

  it("compiles in a project of its own, and runs", async () => {
    const [, example = ""] = /```ts client\n([\s\S]*?)```/.exec(pageText("docs/write-metrics.md")) ?? [];
    const service = await startReal(join(dir, "data"));
    mkdirSync(join(dir, "node_modules/@types"), { recursive: true });
    symlinkSync(root, join(dir, "node_modules/entity-metrics"));
    symlinkSync(join(root, "node_modules/@types/node"), join(dir, "node_modules/@types/node"));
    writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
    const compilerOptions = {
      strict: true,
      module: "NodeNext",
      target: "ES2023",
      types: ["node"],
      skipLibCheck: true,
    };
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.ts"] }));
    writeFileSync(join(dir, "example.ts"), example.replace("http://127.0.0.1:8080", service.url));
    const compiled = run(join(root, "node_modules/typescript/bin/tsc"), "-p", dir);
    expect(compiled.status, compiled.stdout).to.equal(0);
    const { status, stdout, stderr } = run("example.js");
    expect(status, stderr).to.equal(0);
    expect(stdout).to.equal("1\n0\n");
  });
});
