// npm test: the same set-up as npm start, then every test that can run here. --long runs test/long instead.
// Further arguments go to mocha: npm test -- --grep "late writes", npm test -- test/config.test.ts.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { root, setUp } from "./set-up.mjs";

const args = process.argv.slice(2);
const long = args.includes("--long");
const rest = args.filter((arg) => arg !== "--long");
setUp();

const folder = mkdtempSync(join(tmpdir(), "entity-metrics-test-"));
const summary = join(folder, "summary.json");
const mocha = [
  join(root, "node_modules/mocha/bin/mocha.js"),
  "--reporter",
  join(root, "scripts/reporter.cjs"),
  "--exit",
];
// Mocha's workers end without writing what they covered, and what is loaded by require cannot be told from what is imported.
const underCoverage = ["--node-option", "import=tsx/esm", "--timeout", "120000"];
const plain = ["--no-config", "--extension", "ts"];
const everything = long
  ? [...plain, "--node-option", "import=tsx", "--timeout", "0", "test/long/**/*.test.ts"]
  : process.env.NODE_V8_COVERAGE
    ? [...plain, ...underCoverage, ...slowFirst()]
    : ["--parallel", "--jobs", String(Math.min(4, availableParallelism())), ...slowFirst()];
const some = rest.some((arg) => arg.endsWith(".test.ts"));
const { status } = spawnSync(process.execPath, [...mocha, ...(some ? [] : everything), ...rest], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, TEST_SUMMARY: summary },
});
const { passes, failures } = counts();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${passes} passed, ${failures} failed\n`);
process.exit(failures > 0 || passes === 0 ? 1 : (status ?? 1));

/** Every test file, those of the folders that take longest first, so that no worker is left with one at the end. */
function slowFirst() {
  const slow = ["test/faults/", "test/deletions/", "test/bad-inputs/", "test/metrics/recorder"];
  const rank = (file) => (slow.findIndex((start) => file.startsWith(start)) + slow.length + 1) % (slow.length + 1);
  return readdirSync(join(root, "test"), { recursive: true })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".test.ts") && !file.startsWith("test/long/"))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** What the reporter noted; a run that died before its end is a failure. */
function counts() {
  try {
    return JSON.parse(readFileSync(summary, "utf8"));
  } catch {
    process.stdout.write("The test run ended before its summary.\n");
    return { passes: 0, failures: 1 };
  }
}
