import { growthTests } from "../support/growth-tests.js";

describe("what is kept, for long", () => {
  growthTests(100, 10_000);
});
