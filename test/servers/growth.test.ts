import { growthTests } from "./growth.js";

describe("in a test of growth,", function () {
  this.timeout(600_000);
  growthTests(5, 50);
});
