// The options of the benchmark.
import { parseArgs } from "node:util";
import { answerHelp } from "../usage.mjs";

/** Parts of the benchmark, in order of execution. */
export const PARTS = ["reads", "writes", "entities", "rules", "overload"];

/** Options that are counts, with their defaults and maxima. */
const COUNTS = {
  series: { usual: 500, most: 20_000 },
  days: { usual: 60, most: 400 },
  people: { usual: 10_000, most: 1_000_000 },
  due: { usual: 10_000, most: 100_000 },
};

const SECONDS = { secs: 1, "overload-secs": 5 };

const HELP = {
  call: "npm run bench -- [options]",
  description:
    "Measures the built service and its peers in one run, verifies the answers, and prints one table. A ratio above 1 means that the service is better.",
  options: [
    ["--only <parts>", `parts to run, separated by commas (${PARTS.join(",")})`],
    ["--secs <n>", `seconds to measure each request (${SECONDS.secs})`],
    ["--series <n>", `series of hourly points (${COUNTS.series.usual})`],
    ["--days <n>", `days of points in each (${COUNTS.days.usual})`],
    ["--people <n>", `profiles (${COUNTS.people.usual})`],
    ["--due <n>", `people whom a rule decides by time, 100,000 per minute (${COUNTS.due.usual})`],
    ["--overload-secs <n>", `seconds of ten times the load that the service can take (${SECONDS["overload-secs"]})`],
  ],
};

/**
 * Returns the options of the command line: `{ only, secs, seriesCount, days, people, due, overloadSecs }`.
 * Ends the process on `--help` and on invalid options.
 */
export function readOptions() {
  const texts = ["only", ...Object.keys(SECONDS), ...Object.keys(COUNTS)];
  answerHelp(process.argv.slice(2), HELP);
  try {
    const { values } = parseArgs({
      options: Object.fromEntries(texts.map((name) => [name, { type: "string" }])),
    });
    const only = values.only === undefined ? PARTS : values.only.split(",");
    const unknown = only.filter((part) => !PARTS.includes(part));
    if (unknown.length > 0) throw new Error(`--only: there is no part ${unknown.join(", ")}`);
    return {
      only,
      secs: secondsOf("secs", values),
      overloadSecs: secondsOf("overload-secs", values),
      seriesCount: countOf("series", values),
      days: countOf("days", values),
      people: countOf("people", values),
      due: countOf("due", values),
    };
  } catch (error) {
    process.stderr.write(`${error.message}\n\n(npm run bench -- --help shows more)\n`);
    process.exit(2);
  }
}

function secondsOf(name, values) {
  const secs = Number(values[name] ?? SECONDS[name]);
  if (!(secs > 0)) throw new Error(`--${name}: a number above 0 is expected`);
  return secs;
}

function countOf(name, values) {
  const { usual, most } = COUNTS[name];
  const count = Number(values[name] ?? usual);
  if (!Number.isInteger(count) || count < 1 || count > most) {
    throw new Error(`--${name}: a whole number from 1 to ${most} is expected`);
  }
  return count;
}
