import { expect } from "chai";
import { hookUnderKills } from "./hook-kills.js";

describe("P41: a hook of a process that is killed", function () {
  this.timeout(900_000);

  it("receives every change at least once and in order, and nothing of an erased person, over 6 kills", async () => {
    const { changes, violations } = await hookUnderKills(6);
    expect(violations).to.deep.equal([]);
    expect(changes).to.be.above(200);
  });
});
