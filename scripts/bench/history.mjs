// The history file: one line of JSON for each run.
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { root } from "../set-up.mjs";
import { nameOfLine } from "./table.mjs";

/** Sizes that must be equal for two runs to be compared. */
const SIZES = ["seriesCount", "days", "people"];

/** Returns ratios by name of line, each from the newest earlier run with that line and the same sizes. */
export function earlierRatios(file, options) {
  const ratios = new Map();
  if (!existsSync(file)) return ratios;
  for (const text of readFileSync(file, "utf8").split("\n")) {
    if (text === "") continue;
    const run = JSON.parse(text);
    if (!SIZES.every((size) => run.options[size] === options[size])) continue;
    for (const one of run.lines) ratios.set(nameOfLine(one), one.ratio);
  }
  return ratios;
}

/** Appends a run. */
export function appendRun(file, options, lines) {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" });
  const { only, secs, overloadSecs, seriesCount, days, people } = options;
  const run = {
    at: new Date().toISOString(),
    commit: status === 0 ? stdout.trim() : null,
    node: process.versions.node,
    cpus: cpus().length,
    options: { only, secs, overloadSecs, seriesCount, days, people },
    lines,
  };
  appendFileSync(file, `${JSON.stringify(run)}\n`);
}
