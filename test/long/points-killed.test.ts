import { expect } from "chai";
import { loadUnderKills } from "../faults/point-load.js";

describe("a long load of points under kill -9", function () {
  this.timeout(3_600_000);

  it("loses no acknowledged point, stores no half of a write and counts no added point twice, over 200 kills", async () => {
    const { acknowledged, violations } = await loadUnderKills(200);
    expect(violations).to.deep.equal([]);
    expect(acknowledged).to.be.above(10_000_000);
  });
});
