import { cacheSizes, compareHistory } from "../metrics/cache-history.js";

describe("what is cached, for long", () => {
  for (const { what, cache, seed } of cacheSizes) {
    it(`equals what is not, over 25,000 steps of a random history with ${what} (P18)`, async () => {
      for (let part = 0; part < 5; part += 1) await compareHistory(cache, 5_000, 1_000 * seed + part);
    });
  }
});
