// npm test: sets up as npm start does, then runs every test that can run here, in a pool of mocha processes, the
// slowest files first. If TEST_MONGODB_URL, TEST_INFLUXDB_URL and TEST_REDIS_URL are set, the files of ON_SERVERS also
// run on these servers. Further arguments go to mocha: npm test -- --grep "late writes", npm test --
// test/config.test.ts. TEST_TIMES=1 prints the time of each file.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { dateOfCommit, environmentOn } from "./dates.mjs";
import { runChild } from "./run-child.mjs";
import { root, setUp } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

/** Prefixes of the paths of tests that run embedded and once more with every store on a server. */
const ON_SERVERS = [
  "test/journeys/",
  ...["ledger-and-data", "merge-beside-deletion", "random-histories"].map((name) => `test/deletions/${name}`),
  ...["interrupted", "rule-histories", "rule-walkers", "shared-identities", "writers-and-erasers"].map(
    (name) => `test/entities/${name}`,
  ),
  ...["recorder-year", "slot-races"].map((name) => `test/metrics/${name}`),
  "test/hooks/histories",
  "test/bad-inputs/random-requests",
];

/** Prefixes of the paths of the slowest tests, in order of start; each file has its own process. */
const SLOW = [
  "test/deletions/random-histories",
  ...["points-killed", "failpoints"].map((name) => `test/faults/${name}`),
  ...["primary-changes", "shared-history", "processes", "passwords", "growth"].map((name) => `test/servers/${name}`),
  "test/bench-script",
  "test/browser/",
  "test/hooks/histories",
  ...["deadline", "influxdb-answers", "damaged-series", "hooks-killed"].map((name) => `test/faults/${name}`),
  "test/entities/shared-identities",
  ...["cached-equals-uncached", "oracle", "recorder-year"].map((name) => `test/metrics/${name}`),
  ...["secured", "held", "killed-runs", "hooks"].map((name) => `test/servers/${name}`),
  ...["start-scripts", "start.", "package"].map((name) => `test/${name}`),
  ...["body-limits", "slow-", "deletion-reads"].map((name) => `test/http/${name}`),
  ...["erase", "migrate."].map((name) => `test/commands/${name}`),
  ...["long-texts", "random-requests"].map((name) => `test/bad-inputs/${name}`),
];

/** Prefixes of the paths of the slowest quick tests; each file has its own process, which begins before the others. */
const SLOW_ON_DATES = ["test/readme.", "test/reference-pages"];

/**
 * Prefixes of the paths of tests that no date changes (of damage and kills, of wrong requests, of the source), or whose
 * programs have the machine's clock.
 */
const WITHOUT_DATES = [
  ...["test/faults/", "test/bad-inputs/", "test/async/", "test/architecture", "test/containers"],
  ...["test/deploy", "test/http/segment-sdks", "test/http/telegraf"],
];

/** Free bytes of memory from which on tests store their data in memory. */
const ROOM_BYTES = 4e9;
/** Mocha ends a test that waits for too long, but not one that blocks its process. */
const MAX_RUN_MS = 10 * 60_000;
/** Files per process for all others: the start of a process takes as long as some files. */
const TOGETHER = 20;

const args = process.argv.slice(2);
answerHelp(args, {
  call: "npm test -- [options] [file...]",
  description: "Runs every test that can run here, or the tests of the files named.",
  options: [
    ["--long", "runs test/long instead"],
    ["--quick", "leaves out the slowest files, all that needs servers and the tests that no date changes"],
    ["--of-commit", "runs the quick tests on one of the dates of test:dates, which changes with the commit"],
    ["--coverage", "asks for 90 % of the branches of the core, too"],
  ],
  notes: "Further options go to mocha: npm test -- --grep words",
});
const rest = args.filter((arg) => !["--long", "--quick", "--of-commit", "--coverage"].includes(arg));
setUp();
const date = args.includes("--of-commit") ? dateOfCommit() : undefined;
const dateEnvironment = date && environmentOn(date);
if (date) process.stdout.write(`== quick tests ${dateEnvironment ? `on ${date.join(" ")}` : "on the date of today"}\n`);

let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (stopped = true));
const folder = mkdtempSync(join(hasRoom("/dev/shm") ? "/dev/shm" : tmpdir(), "entity-metrics-test-"));
const coverage = join(root, "coverage");
if (args.includes("--coverage")) rmSync(coverage, { recursive: true, force: true });
await dropFilesSoon();
const runs = await inPool(plan());
if (args.includes("--coverage") && !stopped) runs.push(await coverageOfCore());
rmSync(folder, { recursive: true, force: true });

const all = (name) => runs.flatMap((run) => run[name] ?? []);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
if (process.env.TEST_TIMES) {
  for (const [file, ms] of all("times").sort(([, a], [, b]) => b - a))
    process.stdout.write(`${(ms / 1000).toFixed(1).padStart(6)} s ${file}\n`);
}
for (const title of new Set(all("pending"))) process.stdout.write(`not run: ${title}\n`);
for (const failed of all("failed")) process.stdout.write(`failed: ${failed}\n`);
const [passes, failures] = [sum(all("passes")), sum(all("failures"))];
process.stdout.write(`${passes} passed, ${failures} failed\n`);
process.exit(failures > 0 || passes === 0 || stopped ? 1 : 0);

/** Returns whether the data of tests fits into memory, where no test waits for a disk to sync. */
function hasRoom(path) {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > ROOM_BYTES;
}

/**
 * Shortens the time for which MongoDB keeps files of dropped collections open, 5 minutes by default, for reads of old
 * snapshots. Tests read no old snapshots, and drop more collections in that time than a process may usually have open
 * files.
 */
async function dropFilesSoon() {
  const url = process.env.TEST_MONGODB_URL;
  if (!url) return;
  // The package is missing before the set-up.
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

/**
 * Returns the mocha runs: their files, whether their stores are on servers, whether they may run on another date, and
 * whether their coverage counts.
 */
function plan() {
  if (rest.some((arg) => arg.endsWith(".test.ts"))) return [{ files: [], isQuick: true, isCovered: true }];
  const files = readdirSync(join(root, "test"), { recursive: true })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".test.ts") && file.startsWith("test/long/") === args.includes("--long"))
    .sort();
  if (args.includes("--long")) return [{ files }];
  const beginningWith = (starts) =>
    starts.flatMap((start) => {
      const found = files.filter((file) => file.startsWith(start));
      if (found.length === 0) throw new Error(`No test file begins with ${start}`);
      return found;
    });
  const slow = beginningWith(SLOW);
  const slowOnDates = beginningWith(SLOW_ON_DATES);
  const together = (some) => some.flatMap((_, at) => (at % TOGETHER === 0 ? [some.slice(at, at + TOGETHER)] : []));
  const others = files.filter((file) => !slow.includes(file) && !slowOnDates.includes(file));
  const withoutDates = beginningWith(WITHOUT_DATES);
  const needsServers = (file) => readFileSync(join(root, file), "utf8").includes("onServers(");
  const isQuick = (file) => !withoutDates.includes(file) && !needsServers(file);
  const quick = others.filter(isQuick);
  if (args.includes("--quick"))
    return [...slowOnDates.map((file) => [file]), ...together(quick)].map((files) => ({ files }));
  return [
    ...slow.map((file) => ({ files: [file] })),
    ...slowOnDates.map((file) => ({ files: [file], isQuick: true })),
    ...together(beginningWith(ON_SERVERS)).map((files) => ({ files, onServers: true })),
    ...together(others.filter((file) => !isQuick(file))).map((files) => ({ files, isCovered: true })),
    ...together(quick).map((files) => ({ files, isQuick: true, isCovered: true })),
  ];
}

/**
 * Runs every mocha, one more at a time than there are processors, because tests also wait: one place takes the runs on
 * servers first, which wait most, and the others take them last. Resolves with the results.
 */
async function inPool(mochas) {
  const missing = ["TEST_MONGODB_URL", "TEST_INFLUXDB_URL", "TEST_REDIS_URL"].filter((name) => !process.env[name]);
  const queue = missing.length === 0 ? mochas : mochas.filter(({ onServers }) => !onServers);
  const isLive = queue.length === 1;
  const runs = [];
  if (queue.length < mochas.length) {
    const pending = `${ON_SERVERS.join(", ")} with every store on a server (${missing.join(", ")} not set)`;
    runs.push({ failures: process.env.REQUIRE_ENGINES ? 1 : 0, pending });
  }
  const work = async (takesServers) => {
    const take = () => {
      const at = queue.findIndex(({ onServers = false }) => onServers === takesServers);
      return queue.splice(Math.max(at, 0), 1)[0];
    };
    for (let next = take(); next !== undefined && !stopped; next = take()) runs.push(await run(next, isLive));
  };
  await Promise.all([true, ...Array(availableParallelism()).fill(false)].map(work));
  return runs;
}

/**
 * Runs a mocha. A single run prints its output at once, others when they have ended. Resolves with counts, failures and
 * tests that did not run.
 */
async function run({ files, onServers = false, isQuick = false, isCovered = false }, isLive) {
  const summary = join(mkdtempSync(join(folder, "run-")), "summary.json");
  const output = [];
  await runChild(
    [
      join(root, "node_modules/mocha/bin/mocha.js"),
      ...["--reporter", join(root, "scripts/reporter.cjs"), "--exit"],
      // Opening a service on servers takes over a second; concurrent tests and the coverage slow all tests.
      ...(args.includes("--long") ? ["--timeout", "0"] : isLive ? [] : ["--timeout", "120000"]),
      ...files,
      ...rest,
    ],
    {
      env: {
        ...(isQuick ? dateEnvironment : {}),
        TMPDIR: folder,
        TEST_SUMMARY: summary,
        TEST_BUILT: "true",
        ...(onServers ? { TEST_STORES: "servers" } : {}),
        ...(args.includes("--coverage") && isCovered ? { NODE_V8_COVERAGE: join(coverage, "tmp") } : {}),
      },
      ...(isLive ? {} : { onOutput: (chunk) => output.push(chunk), timeout: MAX_RUN_MS }),
    },
  );
  const where = onServers ? " on servers" : "";
  if (!isLive) process.stdout.write(`== ${files.join(", ")}${where}\n${Buffer.concat(output)}`);
  try {
    const { times, ...counts } = JSON.parse(readFileSync(summary, "utf8"));
    return { ...counts, times: Object.entries(times).map(([file, ms]) => [`${file}${where}`, ms]) };
  } catch {
    return { failures: 1, failed: `${files.join(", ")}${where}: the run ended before its summary` };
  }
}

/** Reports the coverage of the core; .c8rc.json has its bounds. */
async function coverageOfCore() {
  const status = await runChild([join(root, "node_modules/c8/bin/c8.js"), "report"]);
  return status === 0 ? {} : { failures: 1, failed: "the coverage of the core" };
}
