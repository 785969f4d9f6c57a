// npm run test:dates: runs the quick part of npm test on several dates, one after the other. The clocks of all
// processes of a run have the same distance to the machine's clock.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

/** Start and time zone of each run. Slots begin at full hours of UTC in every zone. */
const DATES = [
  ["2027-01-07T03:00Z", "UTC", "a Thursday: as 1970-01-01, from which weeks of slots are counted"],
  ["2027-01-10T23:55Z", "Asia/Kolkata", "the end of a week"],
  ["2027-04-30T23:00Z", "UTC", "the last hour of a month"],
  ["2028-02-29T12:00Z", "Asia/Kolkata", "a leap day"],
  ["2027-03-28T00:59Z", "Europe/Berlin", "an hour is skipped"],
  ["2027-11-07T05:59Z", "America/New_York", "an hour is repeated"],
  ["2026-12-31T23:30Z", "Asia/Kolkata", "the end of a year"],
  ["2027-01-01T00:30Z", "Asia/Kolkata", "the beginning of a year"],
];

const args = process.argv.slice(2);
answerHelp(args, {
  call: "npm run test:dates -- [options] [date...] [file...]",
  description: "Runs the quick part of the tests on each of the dates, or on the dates named.",
  options: [["--of-commit", "runs it on one of the dates, which changes with the commit"]],
  notes: `Needs faketime. Further options go to npm test. The dates:
${DATES.map((date) => `  ${date.join(" ")}`).join("\n")}`,
});
const named = args.includes("--of-commit") ? [dateOfCommit()] : DATES.filter(([start]) => args.includes(start));
const rest = args.filter((arg) => arg !== "--of-commit" && !DATES.some(([start]) => start === arg));
// Without servers, which have the machine's clock, and without a browser, which is slow to start with another clock.
const inherited = Object.entries(process.env).filter(([name]) => !/^TEST_(?!TIMES$)|^REQUIRE_ENGINES$/.test(name));
const env = { ...Object.fromEntries(inherited), TEST_CHROMIUM: "" };

if (spawnSync("faketime", ["--version"]).error) {
  process.stdout.write("not run: tests on other dates, as faketime was not found\n");
  process.exit(0);
}
let running;
let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    stopped = true;
    // faketime does not pass signals on to its program.
    process.kill(-running.pid, signal);
  });
}
const failed = [];
for (const [start, zone, reason] of named.length > 0 ? named : DATES) {
  process.stdout.write(`== ${start}, TZ=${zone}: ${reason}\n`);
  const seconds = Math.round((Date.parse(start) - Date.now()) / 1000);
  const shifted = ["-m", "--exclude-monotonic", "-f", `${seconds < 0 ? "" : "+"}${seconds}s`];
  const test = [process.execPath, join(root, "scripts/test.mjs"), "--quick", ...rest];
  const stdio = ["ignore", "inherit", "inherit"];
  running = spawn("faketime", [...shifted, ...test], { env: { ...env, TZ: zone }, stdio, detached: true });
  const [code] = await once(running, "close");
  if (code !== 0) failed.push(start);
  if (stopped) break;
}
process.stdout.write(failed.length === 0 ? "passed on each date\n" : `failed on ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Returns the first date outside of a clone. */
function dateOfCommit() {
  const { stdout } = spawnSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" });
  return DATES[(Number.parseInt(stdout, 16) || 0) % DATES.length];
}
