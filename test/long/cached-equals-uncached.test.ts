import { cacheSizes, compareHistory } from "../metrics/cache-history.js";

describe("in a long test of the cache,", () => {
  for (const { what, seed, ...options } of cacheSizes) {
    it(`a cached response equals an uncached one over 25,000 random steps with ${what} (P18)`, async () => {
      for (let part = 0; part < 5; part += 1) await compareHistory({ ...options, seed: 1_000 * seed + part }, 5_000);
    });
  }
});
