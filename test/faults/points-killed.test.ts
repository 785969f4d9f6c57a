import { expect } from "chai";
import { loadUnderKills } from "./point-load.js";

describe("a load of points under kill -9", function () {
  this.timeout(900_000);

  it("loses no acknowledged point, stores no half of a write and counts no added point twice, over 50 kills", async () => {
    const { acknowledged, violations } = await loadUnderKills(50);
    expect(violations).to.deep.equal([]);
    expect(acknowledged).to.be.above(100_000);
  });
});
