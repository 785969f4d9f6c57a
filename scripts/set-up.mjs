// The first steps of every command: check Node, install dependencies, build. Without dependencies of its own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Whether this is a clone, which must be built. An installed package and an image contain no sources and are already
 * built.
 */
const isClone = existsSync(join(root, "src"));

/** Parent of the data folder of a script: the project, or the working directory if it is an installed package. */
export const dataRoot = isClone ? root : process.cwd();

/** Returns the command line of a script of package.json: `npm run demo` in a clone, `entity-metrics demo` otherwise. */
export function callOf(name) {
  if (!isClone) return `entity-metrics ${name}`;
  return name === "start" ? "npm start" : `npm run ${name}`;
}

/** Returns the first line of its help. */
export function usageOf(name) {
  return `${callOf(name)}${isClone ? " --" : ""} [options]`;
}

/**
 * Installs when node_modules is missing or older than the lock file, and builds when dist is stale. Reports this on
 * stderr.
 */
export function setUp() {
  checkNode();
  if (!isClone) return;
  if (dependenciesAreStale()) install();
  if (buildIsStale()) build();
}

/** Returns the version of this package. */
export function version() {
  return packageJson().version;
}

function packageJson() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/** Ends the process if this Node is older than package.json requires. */
function checkNode() {
  const { engines } = packageJson();
  const wanted = engines.node.replace(/[^\d.]/g, "");
  const [major = 0, minor = 0] = wanted.split(".").map(Number);
  const [ownMajor = 0, ownMinor = 0] = process.versions.node.split(".").map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  fail(`entity-metrics needs Node ${wanted} or newer; this is Node ${process.versions.node}`);
}

function dependenciesAreStale() {
  const installed = join(root, "node_modules", ".package-lock.json");
  return !existsSync(installed) || statSync(installed).mtimeMs < statSync(join(root, "package-lock.json")).mtimeMs;
}

function install() {
  const args = ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  step("Installing dependencies (npm ci)", () => runNpm(args));
}

/** Runs the npm that started this process, otherwise the installed one. */
export function runNpm(args, options = {}) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith("js")
    ? run(process.execPath, [npm, ...args], options)
    : run("npm", args, { ...options, shell: process.platform === "win32" });
}

/** File with the digest of the inputs of dist: path, size and time of each. */
const stamp = join(root, "dist", ".made-from");

function buildIsStale() {
  return !existsSync(stamp) || readFileSync(stamp, "utf8") !== inputsDigest();
}

const inputs = ["package-lock.json", "tsconfig.json", "tsconfig.build.json", "tsconfig.browser.json"];

function inputsDigest() {
  const digest = createHash("sha256");
  for (const path of [...inputs, ...filesUnder("src")]) {
    const { size, mtimeMs } = statSync(join(root, path));
    digest.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return digest.digest("hex");
}

/** Builds next to dist and replaces it when the build is complete. */
export function build() {
  const digest = inputsDigest();
  const fresh = join(root, `dist.${process.pid}`);
  try {
    step("Building", () => {
      const service = tsc("-p", "tsconfig.build.json", "--outDir", fresh);
      if (service.status !== 0) return service;
      const page = tsc("-p", "tsconfig.browser.json");
      if (page.status !== 0) return page;
      bundleDashboard(join(fresh, "dashboard"));
      return declareClient(fresh);
    });
    for (const path of filesUnder("src")) {
      if (extname(path) === ".json") cpSync(join(root, path), join(fresh, path.slice("src/".length)));
    }
    writeFileSync(join(fresh, ".made-from"), digest);
    rmSync(join(root, "dist"), { recursive: true, force: true });
    renameSync(fresh, join(root, "dist"));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Writes the declarations of the client. They refer to no other file, as its types are written out before. */
function declareClient(folder) {
  const sources = join(folder, "client-sources");
  cpSync(join(root, "src/client"), sources, { recursive: true });
  const written = run(process.execPath, [join(root, "scripts/client-types.mjs"), join(sources, "types.ts")]);
  if (written.status !== 0) return written;
  const flags =
    "--declaration --emitDeclarationOnly --strict --module nodenext --target es2023 --lib es2023,dom,dom.iterable";
  const declared = tsc(
    "--ignoreConfig",
    ...flags.split(" "),
    "--outDir",
    join(folder, "client"),
    join(sources, "client.ts"),
  );
  rmSync(sources, { recursive: true });
  return declared;
}

/**
 * Bundles the scripts and the style of the dashboard, with one file for each view, loaded when the view is first
 * opened. The file of uPlot is copied, as it is smaller than what esbuild would make of it.
 */
function bundleDashboard(folder) {
  const { buildSync } = createRequire(import.meta.url)("esbuild");
  buildSync({
    absWorkingDir: root,
    entryPoints: ["src/dashboard/main.tsx", "src/dashboard/dashboard.css"],
    inject: ["src/dashboard/shared.ts"],
    outdir: folder,
    bundle: true,
    splitting: true,
    external: ["./uplot.js"],
    format: "esm",
    target: "es2022",
    minify: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    chunkNames: "[name]-[hash]",
    logLevel: "silent",
  });
  const uPlot = readFileSync(join(root, "node_modules/uplot/dist/uPlot.iife.min.js"), "utf8");
  writeFileSync(join(folder, "uplot.js"), `${uPlot}export { uPlot };\n`);
}

function tsc(...args) {
  return run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args]);
}

/** Returns the files below a folder of the project as sorted paths from its root. */
function filesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesUnder(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]))
    .sort();
}

/** Reports a step and its duration; shows its output only if it fails. */
function step(name, work) {
  const start = Date.now();
  process.stderr.write(`${name} ... `);
  const { status, error, output } = work();
  if (status === 0) {
    process.stderr.write(`${((Date.now() - start) / 1000).toFixed(1)} s\n`);
    return;
  }
  process.stderr.write("failed\n");
  fail(`${error?.message ?? output.filter(Boolean).join("\n").trim()}\n${name} failed`);
}

function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26, ...options });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
