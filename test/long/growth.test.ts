import { growthTests } from "../servers/growth.js";

describe("what is kept, for long", () => {
  growthTests(100, 10_000);
});
