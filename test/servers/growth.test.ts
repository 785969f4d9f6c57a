import { growthTests } from "./growth.js";

describe("what is kept", function () {
  this.timeout(600_000);
  growthTests(5, 50);
});
