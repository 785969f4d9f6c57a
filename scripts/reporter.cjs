// Mocha's spec reporter, which also notes its counts, what failed and what was not run in the file that TEST_SUMMARY names.
const { writeFileSync } = require("node:fs");
const { reporters } = require("mocha");

module.exports = class extends reporters.Spec {
  pending = new Set();
  failed = [];

  constructor(runner, options) {
    super(runner, options);
    runner.on("pending", (test) => this.pending.add(test.fullTitle()));
    runner.on("fail", (test, error) => this.failed.push(`${test.fullTitle()}: ${reason(error)}`));
  }

  epilogue() {
    super.epilogue();
    const { passes, failures } = this.stats;
    const summary = { passes, failures, pending: [...this.pending], failed: this.failed };
    if (process.env.TEST_SUMMARY) writeFileSync(process.env.TEST_SUMMARY, JSON.stringify(summary));
  }
};

/** The first line of a message; of a property that failed, also its seed and what it failed with. */
function reason({ message }) {
  const lines = message.split("\n");
  return [lines[0], ...lines.filter((line) => /^(\{ seed: |Got )/.test(line))].join(" ").slice(0, 1000);
}
