// Mocha's spec reporter, which also writes a summary to the file of TEST_SUMMARY: counts, failures, tests that did not
// run, and the time of each file.
const { writeFileSync } = require("node:fs");
const { relative } = require("node:path");
const { reporters } = require("mocha");

module.exports = class extends reporters.Spec {
  pending = new Set();
  failed = [];
  /** Milliseconds of each file. */
  times = {};

  constructor(runner, options) {
    super(runner, options);
    runner.on("pending", (test) => this.pending.add(test.fullTitle()));
    let start = 0;
    runner.on("suite", ({ parent }) => {
      if (parent?.root) start = Date.now();
    });
    runner.on("suite end", ({ parent, file }) => {
      if (!parent?.root) return;
      const name = relative("", file);
      this.times[name] = (this.times[name] ?? 0) + Date.now() - start;
    });
    runner.on("fail", (test, error) => this.failed.push(`${test.fullTitle()}: ${reason(error)}`));
  }

  epilogue() {
    super.epilogue();
    const { passes, failures } = this.stats;
    const summary = { passes, failures, pending: [...this.pending], failed: this.failed, times: this.times };
    if (process.env.TEST_SUMMARY) writeFileSync(process.env.TEST_SUMMARY, JSON.stringify(summary));
  }
};

/**
 * Returns the message, shortened to the part that reproduces the failure. For a failed property, its seed and
 * counterexample come first.
 */
function reason({ message }) {
  const lines = message.split("\n").map((line) => line.slice(0, MAX_LINE_LENGTH));
  const telling = lines.filter((line, index) => index === 0 || /^(\{ seed: |Got )/.test(line));
  const rest = lines.filter((line) => !telling.includes(line)).slice(0, MOST_LINES);
  return [telling.join(" "), ...rest].join("\n  ");
}

const MOST_LINES = 100;
const MAX_LINE_LENGTH = 1000;
