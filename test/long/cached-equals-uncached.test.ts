import { cacheSizes, compareHistory } from "../metrics/cache-history.js";

describe("what is cached, for long", () => {
  for (const { what, seed, ...options } of cacheSizes) {
    it(`a response from memory equals one from the stores over 25,000 steps of random histories with ${what} (P18)`, async () => {
      for (let part = 0; part < 5; part += 1) await compareHistory({ ...options, seed: 1_000 * seed + part }, 5_000);
    });
  }
});
