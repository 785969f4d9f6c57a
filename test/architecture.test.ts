import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { type Import, root, type SourceFile, sourceFiles } from "./support/source-tree.js";

const files = sourceFiles();
const imports = files.flatMap((file) => file.imports);

const leaves =
  /^(errors|clock|log|facts|failpoint|memory-budget|cache-memory|exact-sum|meters|ids|text|reserved-names|async\/.+|formats\/.+)$/;
const settingsSchema = "../config/schema.json";
const domains = ["entities", "metrics", "catalogue", "deletions", "hooks", "keys", "segments"];
/** Types and ports of the domains: the only files of a domain that engines and targets may import. */
const portsAndTypes = files.filter(isPortOrType).map((file) => file.path);

/** Allowed imports between our files. The first rule whose folder matches counts. */
const rules: { readonly who: RegExp; readonly may: (to: string) => boolean; readonly words: string }[] = [
  {
    who: /^formats\//,
    may: (to) => /^(errors$|formats\/)/.test(to),
    words: "formats are text: they import each other and errors",
  },
  { who: /^async\//, may: (to) => to.startsWith("async/"), words: "async imports nothing of ours" },
  {
    who: /^(failpoint|memory-budget)$/,
    may: (to) => to === "errors",
    words: "failpoint and the memory budget import errors alone",
  },
  {
    who: /^service-clock$/,
    may: (to) => leaves.test(to),
    words: "the clock of the service imports leaves",
  },
  { who: leaves, may: () => false, words: "a leaf imports nothing of ours" },
  {
    who: /^config\//,
    may: (to) => to === settingsSchema || to.startsWith("config/") || leaves.test(to),
    words: "config imports leaves and the schema of the settings",
  },
  { who: /^compose(\/|$)/, may: (to) => !/^(main|commands\/)/.test(to), words: "compose knows every part" },
  {
    who: /^main$/,
    may: (to) => /^(compose|service-clock)$|^(config|keys)\//.test(to) || leaves.test(to),
    words: "main reads the settings, composes, listens",
  },
  {
    who: /^commands\//,
    may: (to) =>
      /^(commands|stores|keys|config|metrics|client|entities\/identity-file)\/|^compose$/.test(to) || leaves.test(to),
    words:
      "a command uses the stores, the settings, formats, what checks points and files of identities, and the client",
  },
  {
    who: /^http\/edge\//,
    may: (to) => /^(http\/edge|config)\//.test(to) || leaves.test(to),
    words: "the edge imports settings and leaves",
  },
  {
    who: /^http\/core\//,
    may: (to) => /^(http\/(core|edge)|keys|config)\//.test(to) || leaves.test(to),
    words: "what every route shares imports the edge, keys, settings and leaves",
  },
  {
    who: /^http\//,
    may: (to) => new RegExp(`^(http|dashboard|${domains.join("|")}|config)/`).test(to) || leaves.test(to),
    words: "http imports domains, keys, pages and leaves",
  },
  {
    who: /^deletions\/targets\//,
    may: (to) => to.startsWith("deletions/targets/") || portsAndTypes.includes(to) || leaves.test(to),
    words: "a target imports ports, types and leaves",
  },
  {
    who: /^deletions\//,
    may: (to) => /^(deletions|entities)\//.test(to) || leaves.test(to),
    words: "deletions may import entities",
  },
  {
    who: /^hooks\//,
    may: (to) => /^((hooks|deletions|entities)\/|catalogue\/ports$)/.test(to) || leaves.test(to),
    words: "hooks may import deletions, which call other systems too, and entities",
  },
  {
    who: /^entities\/profile\//,
    may: (to) => /^(entities\/(profile\/|ports$)|segments\/)/.test(to) || leaves.test(to),
    words: "profiles import rules, and nothing of those who read and change them",
  },
  {
    who: /^entities\//,
    may: (to) => /^((entities|segments)\/|catalogue\/ports$)/.test(to) || leaves.test(to),
    words: "entities may import rules of segments, and the catalogue that stores them",
  },
  {
    who: /^segments\//,
    may: (to) => /^(segments\/|catalogue\/ports$)/.test(to) || leaves.test(to),
    words: "rules of segments are stored in the catalogue",
  },
  ...["metrics", "catalogue", "keys"].map((domain) => ({
    who: new RegExp(`^${domain}/`),
    may: (to: string) => to.startsWith(`${domain}/`) || leaves.test(to),
    words: `${domain} imports leaves and itself`,
  })),
  {
    who: /^stores\/(stores|open-stores|pepper|copy|database-facts|layouts|ledger-position|tls-errors)$/,
    may: (to) => /^(stores|config)\//.test(to) || portsAndTypes.includes(to) || leaves.test(to),
    words: "the stores are ports",
  },
  {
    who: /^stores\/[^/]+\//,
    may: (to) =>
      /^(stores\/(stores|pepper|copy|database-facts|layouts|ledger-position|tls-errors)$|config\/)/.test(to) ||
      portsAndTypes.includes(to) ||
      leaves.test(to),
    words: "an engine imports ports, types and leaves",
  },
  {
    who: /^dashboard\//,
    may: (to) => /^((dashboard|client|formats|entities\/identity-file)\/|segments\/rule$)/.test(to),
    words:
      "the dashboard speaks to /api, through the client, divides time and reads files as the service does, and imports the type of a rule",
  },
  {
    who: /^client\/types$/,
    may: (to) => /^(http|metrics)\//.test(to),
    words: "the client's types are those of the schemas, which the build writes out",
  },
  {
    who: /^client\//,
    may: (to) => to.startsWith("client/"),
    words: "the client imports nothing of ours, so that its types compile alone",
  },
];

describe("the source code", () => {
  it("imports in each part only what the rule of that part allows", () => {
    const wrong = imports.filter((line) => line.ours && !allowed(line));
    expect(
      wrong.map(
        ({ from, to }) =>
          `${from} imports ${to}: ${rules.find((rule) => rule.who.test(from))?.words ?? "no rule names this folder"}`,
      ),
    ).to.deep.equal([]);
  });

  it("has no cycle of imports, including type imports", () => {
    expect(findCycle(files)).to.equal(undefined);
  });

  it("imports no test and no file outside src, except the schema of the settings", () => {
    expect(imports.filter((line) => line.ours && line.to.startsWith("..") && line.to !== settingsSchema)).to.deep.equal(
      [],
    );
  });

  it("imports no package in the client and two in the dashboard, so that a browser loads no server code", () => {
    const packagesOf = (folder: string) =>
      new Set(imports.filter(({ from, ours }) => from.startsWith(folder) && !ours).map(({ to }) => to));
    expect([...packagesOf("client/")]).to.deep.equal([]);
    expect(files.find(({ path }) => path === "client/types")?.code).to.not.match(
      /^(import|export) (?!type|interface)/m,
    );
    expect([...packagesOf("dashboard/")].sort()).to.deep.equal(["preact", "uplot"]);
  });

  it("keeps Koa, drivers and the environment out of the domains", () => {
    const inDomain = files.filter(({ path }) => domains.some((domain) => path.startsWith(`${domain}/`)));
    const packages = inDomain.flatMap((file) =>
      file.imports.filter((line) => !line.ours && !line.to.startsWith("node:")),
    );
    expect(packages.filter(({ to }) => /koa|pino|sqlite|mongo|influx|redis|bullmq/.test(to))).to.deep.equal([]);
    expect(inDomain.filter(({ code }) => code.includes("process.env")).map(({ path }) => path)).to.deep.equal([]);
  });

  it("reads the machine's clock in one place, except in commands and in a browser", () => {
    const asking = files.filter(
      ({ path, code }) => /Date\.now\(|new Date\(\)/.test(code) && !/^(clock$|commands\/|dashboard\/)/.test(path),
    );
    expect(asking.map(({ path }) => path)).to.deep.equal([]);
    const holding = files.filter(
      ({ path, code }) => /\bsystemClock\b/.test(code) && !/^(clock$|main$|commands\/)/.test(path),
    );
    expect(holding.map(({ path }) => path)).to.deep.equal([]);
  });

  it("names an engine only in stores, config, compose and commands", () => {
    const elsewhere = files.filter(({ path }) => !/^(stores|config|compose|commands)(\/|$)/.test(path));
    expect(
      elsewhere.filter(({ code }) => /sqlite|mongo|bullmq|redis|@influxdata/i.test(code)).map(({ path }) => path),
    ).to.deep.equal([]);
  });

  it("imports drivers only in stores, and engines lazily", () => {
    const drivers = /^(@photostructure\/sqlite|node:sqlite|mongodb|@influxdata\/influxdb-client|bullmq|ioredis)$/;
    expect(imports.filter(({ from, to }) => drivers.test(to) && !from.startsWith("stores/"))).to.deep.equal([]);
    const eager = files.find(({ path }) => path === "stores/open-stores")?.code.match(/^import (?!type).*"\.\/.*$/gm);
    expect(eager).to.equal(null);
  });

  it("uses the packages for schemas and bodies of requests only in http, and for the shape of a rule", () => {
    const schemas = imports.filter(({ to }) => /^(@sinclair\/typebox|koa-bodyparser)$/.test(to));
    expect(schemas).to.have.length.above(10);
    expect(schemas.filter(({ from }) => !/^(http\/|segments\/(rule|parse-rule)$)/.test(from))).to.deep.equal([]);
  });

  it("imports only packages that are dependencies, except in the dashboard, which is bundled", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const packages = imports.filter(
      ({ from, ours, to }) => !ours && !to.startsWith("node:") && !from.startsWith("dashboard/"),
    );
    expect(packages.filter(({ to }) => dependencies[to] === undefined)).to.deep.equal([]);
  });

  it("starts on the embedded engine without loading a driver of a server", function () {
    // A process of its own compiles every source.
    this.timeout(120_000);
    const dir = dataFolder();
    const script = `
      const { readSettings } = await import("./src/config/settings.ts");
      const { compose } = await import("./src/compose.ts");
      const { openLog } = await import("./src/log.ts");
      const { serviceClock } = await import("./src/service-clock.ts");
      const service = await compose({ ...readSettings({ DATA_DIR: ${JSON.stringify(dir)}, PORT: "0" }) }, serviceClock(() => 1_700_000_000_000), openLog("silent"));
      await service.listen();
      await service.stop();
      process.exit(0);`;
    const trace = join(dir, "loaded");
    const hooks = `import { appendFileSync } from "node:fs"; export async function load(url, context, next) { appendFileSync(${JSON.stringify(trace)}, url + "\\n"); return next(url, context); }`;
    const preload = `import { register } from "node:module"; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});`;
    const { status, stderr } = spawnSync(
      process.execPath,
      [
        "--import",
        "tsx",
        "--import",
        `data:text/javascript,${encodeURIComponent(preload)}`,
        "--input-type=module",
        "-e",
        script,
      ],
      { cwd: root, encoding: "utf8" },
    );
    expect(status, stderr).to.equal(0);
    const loaded = readFileSync(trace, "utf8");
    expect(loaded).to.contain("stores/sqlite/index");
    expect(
      loaded.split("\n").filter((url) => /node_modules\/(mongodb|@influxdata|bullmq|ioredis)\//.test(url)),
    ).to.deep.equal([]);
  });
});

function allowed({ from, to }: Import): boolean {
  return rules.find((rule) => rule.who.test(from))?.may(to) || sameEngine(from, to);
}

/** An engine's files may import each other. */
function sameEngine(from: string, to: string): boolean {
  const engine = /^stores\/[^/]+\//.exec(from)?.[0];
  return engine !== undefined && to.startsWith(engine);
}

/** A port has PORT in its comment; a type file has interfaces, constants and pure one-line functions. */
function isPortOrType({ path }: SourceFile): boolean {
  if (!domains.some((domain) => path.startsWith(`${domain}/`))) return false;
  const text = readFileSync(join(root, "src", `${path}.ts`), "utf8");
  if (/\/\*\*[^/]*\bPORT\b/.test(text)) return true;
  return /^(entities\/profile\/(entity|identity|deleted-segments)|metrics\/(series|dimensions|added-counts)|deletions\/deletion|keys\/api-key)$/.test(
    path,
  );
}

/** The first cycle found, as its files in order. */
function findCycle(all: readonly SourceFile[]): string[] | undefined {
  const next = new Map(all.map((file) => [file.path, file.imports.filter((line) => line.ours).map((line) => line.to)]));
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const to of next.get(path) ?? []) {
      const cycle = visit(to, [...trail, path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of next.keys()) {
    const cycle = visit(path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
