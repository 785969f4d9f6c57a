import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { buildSync } from "esbuild";
import { dataFolder } from "./support/data-folder.js";
import { startInShell } from "./support/shell-service.js";
import { root } from "./support/source-tree.js";

const { version, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The environment without the settings that an outer npm passes to its scripts. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)|^npm_config_(local_)?prefix$/i.test(name)),
);

const npm = (cwd: string, ...args: string[]) =>
  spawnSync("npm", [...args, "--loglevel=error", "--no-audit", "--no-fund"], { cwd, env, encoding: "utf8" });

/** Whether npm can read the description of a dependency. Without a connection it must not retry for minutes. */
const hasRegistry =
  npm(root, "view", `koa@${dependencies.koa}`, "version", "--fetch-retries=0", "--fetch-timeout=10000").status === 0;

/** A page's script: writes a value and reads it back. */
const browserScript = `
import { createClient } from "entity-metrics/client";
export async function writeAndRead(url, key) {
  const client = createClient({ url, key });
  const series = { dimension: "segment", dimension_id: "vip", dimension_type: "size" };
  const ts = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000;
  await client.writePoints([{ ...series, value: 7, ts }]);
  const [{ values }] = await client.metrics([{ ...series, range: "2d", interval: "1h" }]);
  return values.map(({ value }) => value);
}`;

describe("the npm package", function () {
  this.timeout(180_000);
  let dir: string;
  before(() => {
    dir = dataFolder();
    // The build is up to date under `npm test`; a build here would replace files that other tests read.
    const packed = npm(root, "pack", "--ignore-scripts", "--pack-destination", dir);
    expect(packed.status, packed.stderr).to.equal(0);
    if (!hasRegistry) return;
    mkdirSync(emptyFolder());
    writeFileSync(join(emptyFolder(), "package.json"), '{ "private": true }');
    const installed = npm(emptyFolder(), "install", "--omit=dev", "--prefer-offline", tarball());
    expect(installed.status, installed.stderr).to.equal(0);
  });
  const tarball = () => join(dir, `entity-metrics-${version}.tgz`);
  const emptyFolder = () => join(dir, "installed");

  it("contains the built service, its settings and its pages, and no source or test", () => {
    const listed = spawnSync("tar", ["-tzf", tarball()], { encoding: "utf8" });
    const files = listed.stdout.split("\n").map((name) => name.replace(/^package\//, ""));
    expect(files).to.include.members([
      "package.json",
      "LICENSE",
      "README.md",
      "CHANGELOG.md",
      "bin/entity-metrics.mjs",
      "config/schema.json",
      "config/tables.json",
      "dist/main.js",
      "dist/client/client.js",
      "dist/client/client.d.ts",
      "dist/dashboard/main.js",
      "dist/dashboard/dashboard.css",
    ]);
    expect(files.filter((name) => /^(src|test|node_modules|data|coverage)\/|\.key$|\.made-from$/.test(name))).to.be
      .empty;
  });

  it("has types for the client that compile without any other package", () => {
    const alone = join(dir, "alone");
    const installed = join(alone, "node_modules/entity-metrics");
    mkdirSync(installed, { recursive: true });
    spawnSync("tar", ["-xzf", tarball(), "--strip-components=1", "-C", installed]);
    writeFileSync(
      join(alone, "use.mts"),
      'import { createClient } from "entity-metrics/client";\ncreateClient({ url: "" });\n',
    );
    const modes = ["node16", "nodenext", "esnext --moduleResolution bundler --resolveJsonModule false"];
    for (const mode of modes) {
      const flags = `--noEmit --strict --skipLibCheck false --types  --lib es2022,dom --target es2022 --module ${mode}`;
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      const { status, stdout } = spawnSync(process.execPath, [tsc, ...flags.split(" "), "use.mts"], {
        cwd: alone,
        encoding: "utf8",
      });
      expect(status, `${mode}: ${stdout.slice(0, 1_000)}`).to.equal(0);
    }
  });

  if (!hasRegistry) {
    it("not run: the npm registry is unreachable, so the package cannot be installed");
    return;
  }

  it("starts in the empty folder that it was installed into, and a bundled script writes and reads", async () => {
    const folder = emptyFolder();
    const own = { ...env, PORT: "0", LOG_LEVEL: "error" };
    const service = await startInShell("npx entity-metrics start", { cwd: folder, env: own });
    try {
      for (const path of ["/ready", "/dashboard", "/docs", "/docs/swagger-ui.css", "/openapi.json"])
        expect((await fetch(service.address + path)).status, path).to.equal(200);
      const create = ["entity-metrics", "key", "create", "--scopes", "metric:read,metric:write"];
      const created = spawnSync("npx", create, { cwd: folder, env: own, encoding: "utf8" });
      expect(created.status, created.stderr).to.equal(0);

      writeFileSync(join(folder, "page.js"), browserScript);
      const bundle = join(folder, "bundle.mjs");
      buildSync({
        entryPoints: [join(folder, "page.js")],
        outfile: bundle,
        bundle: true,
        platform: "browser",
        format: "esm",
        logLevel: "silent",
      });
      const { writeAndRead } = await import(bundle);
      expect(await writeAndRead(service.address, created.stdout.trim())).to.deep.equal([7]);
    } finally {
      await service.stop();
    }
    expect(service.output()).to.not.match(/Installing|Building/);
  });

  for (const name of ["start", "demo", "key"]) {
    it(`prints the help of entity-metrics ${name} without npm run`, () => {
      const program = join(emptyFolder(), "node_modules/.bin/entity-metrics");
      const { status, stdout, stderr } = spawnSync(program, [name, "--help"], { env, encoding: "utf8" });
      expect([status, stderr]).to.deep.equal([0, ""]);
      expect(stdout.split("\n")[0]?.startsWith(`Usage: entity-metrics ${name} [options]`), stdout).to.equal(true);
      expect(stdout).to.not.contain("npm run");
    });
  }
});
