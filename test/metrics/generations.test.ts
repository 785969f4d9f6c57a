import { expect } from "chai";
import { Generations } from "../../src/metrics/cache/generations.js";
import { SharedInvalidation } from "../../src/metrics/cache/shared-invalidation.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SeriesWindow, SharedGenerations } from "../../src/metrics/ports.js";

const DAY = 24 * HOUR;

describe("a write to one day of a series", () => {
  for (const isShared of [false, true]) {
    it(`invalidates no cached data of the 111 days before and after it in ${isShared ? "several processes" : "a single process"}`, async () => {
      const shared = isShared ? new SharedInvalidation(sharedInMemory(), 60_000) : undefined;
      const own = new Generations(24, { exclusive: !isShared, shared });
      const series = { dimension: stream, id: "a", type: "size" };
      const day = (n: number): SeriesWindow => ({ series, from: n * DAY, to: (n + 1) * DAY });
      const versions = () => Array.from({ length: 223 }, (_, n) => own.versionsIn(day(n + 19_000)));
      const before = versions();
      await own.written([day(19_111)]);
      const after = versions();
      const changed = before.flatMap(({ generations: [generation] }, n) =>
        after[n]?.generations[0] === generation ? [] : [n],
      );
      expect(changed).to.deep.equal([111]);
      shared?.close();
    });
  }
});

describe("a cached entry", () => {
  for (const exclusive of [false, true]) {
    it(`is valid ${exclusive ? "until a write, if this process owns the store" : "for 10 s, if the store may complete a rejected write, or others may write"}`, () => {
      const { now } = performance;
      const own = new Generations(24, { exclusive });
      const series = { dimension: stream, id: "a", type: "size" };
      const versions = own.versionsIn({ series, from: 0, to: DAY });
      try {
        for (const [ms, isCurrent] of [
          [9_999, true],
          [10_001, exclusive],
        ] as const) {
          performance.now = () => versions.takenAt + ms;
          expect(own.isCurrent(versions), `after ${ms} ms`).to.equal(isCurrent);
        }
      } finally {
        performance.now = now;
      }
    });
  }
});

/** The shared counts of a single process. */
function sharedInMemory(): SharedGenerations {
  const counts = new Map<number, number>();
  let version = 0;
  return {
    async increment(at) {
      version += 1;
      for (const index of at) counts.set(index, (counts.get(index) ?? 0) + 1);
      return { counts, order: 0 };
    },
    read: async (known) => (known === version ? undefined : { version, counts, order: 0 }),
  };
}
