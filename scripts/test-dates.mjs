// npm run test:dates: runs the quick part of npm test on several dates, one after the other. The clocks of all
// processes of a run have the same distance to the machine's clock.
import { join } from "node:path";
import { DATES, environmentOn } from "./dates.mjs";
import { runChild } from "./run-child.mjs";
import { root } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

const args = process.argv.slice(2);
answerHelp(args, {
  call: "npm run test:dates -- [options] [date...] [file...]",
  description: "Runs the quick part of the tests on each of the dates, or on the dates named.",
  notes: `Needs faketime. Options go to npm test. The dates:
${DATES.map((date) => `  ${date.join(" ")}`).join("\n")}`,
});
const named = DATES.filter(([start]) => args.includes(start));
const rest = args.filter((arg) => !DATES.some(([start]) => start === arg));

let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (stopped = true));
const failed = [];
for (const date of named.length > 0 ? named : DATES) {
  const [start, zone, reason] = date;
  const env = environmentOn(date);
  if (env === undefined) {
    process.stdout.write("not run: tests on other dates, as faketime was not found\n");
    break;
  }
  process.stdout.write(`== ${start}, TZ=${zone}: ${reason}\n`);
  const code = await runChild([join(root, "scripts/test.mjs"), "--quick", ...rest], {
    env: { ...env, REQUIRE_ENGINES: undefined },
  });
  if (code !== 0) failed.push(start);
  if (stopped) break;
}
process.stdout.write(failed.length === 0 ? "passed on each date\n" : `failed on ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
