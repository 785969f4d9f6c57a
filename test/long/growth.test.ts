import { growthTests } from "../servers/growth.js";

describe("in a long test of growth,", () => {
  growthTests(100, 10_000);
});
