// Mocha's spec reporter, which also notes its counts, what failed and what was not run in the file that TEST_SUMMARY names.
const { writeFileSync } = require("node:fs");
const { reporters } = require("mocha");

module.exports = class extends reporters.Spec {
  pending = new Set();
  failed = [];

  constructor(runner, options) {
    super(runner, options);
    runner.on("pending", (test) => this.pending.add(test.fullTitle()));
    runner.on("fail", (test, { message }) => this.failed.push(`${test.fullTitle()}: ${message.split("\n", 1)[0]}`));
  }

  epilogue() {
    super.epilogue();
    const { passes, failures } = this.stats;
    const summary = { passes, failures, pending: [...this.pending], failed: this.failed };
    if (process.env.TEST_SUMMARY) writeFileSync(process.env.TEST_SUMMARY, JSON.stringify(summary));
  }
};
