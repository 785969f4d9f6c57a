// npm test: the same set-up as npm start, then every test that can run here; with servers (TEST_MONGODB_URL, TEST_INFLUXDB_URL and
// TEST_REDIS_URL name them) those of whole services once more on them. --long runs test/long instead.
// Further arguments go to mocha: npm test -- --grep "late writes", npm test -- test/config.test.ts.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "./run-child.mjs";
import { root, setUp } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

const args = process.argv.slice(2);
answerHelp(args, {
  call: "npm test -- [options] [file...]",
  description: "Runs every test that can run here, or those of the files named.",
  options: [["--long", "runs test/long instead"]],
  notes: "Further options go to mocha: npm test -- --grep words",
});
const long = args.includes("--long");
const rest = args.filter((arg) => arg !== "--long");
setUp();
await dropFilesSoon();

const folder = mkdtempSync(join(tmpdir(), "entity-metrics-test-"));
const mocha = [
  join(root, "node_modules/mocha/bin/mocha.js"),
  "--reporter",
  join(root, "scripts/reporter.cjs"),
  "--exit",
];
const jobs = Math.min(4, availableParallelism());
const plain = [
  "--no-config",
  "--extension",
  "ts",
  "--node-option",
  "import=tsx/esm",
  "--require",
  "test/support/every-test.ts",
];
/** How the paths of tests begin that run once more with every store on a server. */
const ON_SERVERS = [
  "test/journeys/",
  ...["ledger-and-data", "merge-beside-deletion", "random-histories"].map((name) => `test/deletions/${name}`),
  ...["interrupted", "writers-and-erasers"].map((name) => `test/entities/${name}`),
  ...["recorder-year", "slot-races"].map((name) => `test/metrics/${name}`),
];
/** Opening a service on servers takes a good second, and several test processes share them; coverage slows all tests. */
const SLOW_TIMEOUT_MS = 120_000;

let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (stopped = true));
const runs = [];
const named = rest.some((arg) => arg.endsWith(".test.ts"));
if (long) {
  const files = named ? rest : ["test/long/**/*.test.ts", ...rest];
  runs.push(await run([...plain, "--timeout", "0", ...files]));
} else if (named) {
  runs.push(await run(rest));
} else {
  const again = filesOnServers();
  runs.push(...(await runFiles(slowFirst(), rest)));
  if (!stopped) runs.push(...(await runOnServers(again)));
}
rmSync(folder, { recursive: true, force: true });
const passes = runs.reduce((sum, run) => sum + run.passes, 0);
const failures = runs.reduce((sum, run) => sum + run.failures, 0);
for (const title of new Set(runs.flatMap(({ pending }) => pending))) process.stdout.write(`not run: ${title}\n`);
for (const failed of runs.flatMap(({ failed }) => failed)) process.stdout.write(`failed: ${failed}\n`);
process.stdout.write(`${passes} passed, ${failures} failed\n`);
process.exit(failures > 0 || passes === 0 ? 1 : (runs.find(({ status }) => status !== 0)?.status ?? 0));

/**
 * MongoDB keeps the files of dropped collections open for as long as a snapshot of them may be read, 5 minutes by default. Tests drop
 * thousands of collections in that time, more than the files that a process may usually open, and none of them reads an old snapshot.
 */
async function dropFilesSoon() {
  const url = process.env.TEST_MONGODB_URL;
  if (!url) return;
  // Not there before the set-up.
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 });
  try {
    await client.db("admin").command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 0 });
  } catch (error) {
    process.stdout.write(`MongoDB keeps the files of dropped collections open: ${error.message}\n`);
  } finally {
    await client.close();
  }
}

/** The files of `ON_SERVERS`. Throws when one of its paths is that of no file. */
function filesOnServers() {
  const all = slowFirst();
  const unknown = ON_SERVERS.filter((start) => !all.some((file) => file.startsWith(start)));
  if (unknown.length > 0) throw new Error(`No test file begins with ${unknown.join(", ")}`);
  return all.filter((file) => ON_SERVERS.some((start) => file.startsWith(start)));
}

/** The tests of the routes with every store on a server, two files at a time. */
async function runOnServers(files) {
  const missing = ["TEST_MONGODB_URL", "TEST_INFLUXDB_URL", "TEST_REDIS_URL"].filter((name) => !process.env[name]);
  if (missing.length > 0) {
    const pending = [`${ON_SERVERS.join(", ")} once more with every store on a server (${missing.join(", ")} not set)`];
    const required = Boolean(process.env.REQUIRE_ENGINES);
    return [{ passes: 0, failures: required ? 1 : 0, pending, failed: [], status: 0 }];
  }
  process.stdout.write(`== once more with every store on a server: ${ON_SERVERS.join(", ")}\n`);
  return runFiles(files, ["--timeout", String(SLOW_TIMEOUT_MS), ...rest], { TEST_STORES: "servers" });
}

/**
 * Runs files in several processes at once: workers of one mocha, or under coverage a mocha for each share of the files, as workers
 * end without writing what they covered.
 */
async function runFiles(files, mochaArgs, env) {
  if (!process.env.NODE_V8_COVERAGE)
    return [await run(["--parallel", "--jobs", String(jobs), ...files, ...mochaArgs], env)];
  const shares = Array.from({ length: jobs }, (_, share) => files.filter((_, index) => index % jobs === share));
  const slow = ["--timeout", String(SLOW_TIMEOUT_MS)];
  return Promise.all(shares.map((share) => run([...plain, ...slow, ...share, ...mochaArgs], env)));
}

/** Runs mocha; hands out its counts, what failed, what it did not run, and its exit code. */
async function run(mochaArgs, env = {}) {
  const summary = join(mkdtempSync(join(folder, "run-")), "summary.json");
  // Coverage is of the sources.
  const isBuilt = String(!process.env.NODE_V8_COVERAGE);
  const status = await runChild([...mocha, ...mochaArgs], {
    env: { ...env, TEST_SUMMARY: summary, TEST_BUILT: isBuilt },
  });
  return { ...counts(summary), status };
}

/** Every test file, those of the folders that take longest first, so that no worker is left with one at the end. */
function slowFirst() {
  const slow = [
    "test/browser/",
    "test/faults/",
    "test/servers/",
    "test/deletions/",
    "test/bad-inputs/",
    "test/metrics/recorder",
  ];
  const rank = (file) => (slow.findIndex((start) => file.startsWith(start)) + slow.length + 1) % (slow.length + 1);
  return readdirSync(join(root, "test"), { recursive: true })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".test.ts") && !file.startsWith("test/long/"))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** What the reporter noted; a run that died before its end is a failure. */
function counts(summary) {
  try {
    return JSON.parse(readFileSync(summary, "utf8"));
  } catch {
    process.stdout.write("The test run ended before its summary.\n");
    return { passes: 0, failures: 1, pending: [], failed: [] };
  }
}
