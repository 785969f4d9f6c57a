import { expect } from "chai";
import { hookUnderKills } from "../faults/hook-kills.js";

describe("a hook under kill -9", function () {
  this.timeout(0);

  it("P41: receives every change at least once and in order, and nothing of an erased person, over 1,000 kills", async () => {
    const { violations } = await hookUnderKills(Number(process.env.HOOK_KILLS ?? 1_000));
    expect(violations).to.deep.equal([]);
  });
});
