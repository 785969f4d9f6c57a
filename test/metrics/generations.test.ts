import { expect } from "chai";
import { CacheMemory } from "../../src/cache-memory.js";
import { Generations, joinVersions } from "../../src/metrics/cache/generations.js";
import { SharedInvalidation } from "../../src/metrics/cache/shared-invalidation.js";
import { VersionedCache } from "../../src/metrics/cache/versioned-cache.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SeriesWindow, SharedGenerations } from "../../src/metrics/ports.js";

const CHUNK_SLOTS = 168;
const windowOf = (id: string): SeriesWindow => ({
  series: { dimension: stream, id, type: "size" },
  from: 0,
  to: HOUR,
});

describe("read versions", () => {
  let generations: Generations;
  beforeEach(() => {
    generations = new Generations(CHUNK_SLOTS, { exclusive: true });
  });
  const write = (id: string) => generations.written([windowOf(id)]);

  it("are current until their chunk is written, and no longer, also if they were taken during the write", async () => {
    const [before, other] = [generations.versionsIn(windowOf("a")), generations.versionsIn(windowOf("b"))];
    expect(generations.isCurrent(before)).to.equal(true);
    await write("a");
    expect([before, other].map((versions) => generations.isCurrent(versions))).to.deep.equal([false, true]);
    expect(generations.isCurrent(generations.versionsIn(windowOf("a")))).to.equal(true);
  });

  it("are current together while each of them is", async () => {
    const joined = joinVersions(["a", "b", "a"].map((id) => generations.versionsIn(windowOf(id))));
    expect(generations.isCurrent(joined)).to.equal(true);
    await write("b");
    expect(generations.isCurrent(joined)).to.equal(false);
  });

  it("are never current together when one of two of the same chunk was taken before a write of it", async () => {
    const before = generations.versionsIn(windowOf("a"));
    await write("a");
    const after = generations.versionsIn(windowOf("a"));
    for (const versions of [
      [before, after],
      [after, before],
      [after, before, after],
    ]) {
      expect(generations.isCurrent(joinVersions(versions))).to.equal(false);
    }
    expect(generations.isCurrent(joinVersions([after, after]))).to.equal(true);
  });

  it("end what is kept under them, and an entry that is out of date is not kept", async () => {
    const cache = new VersionedCache<string>(generations, new CacheMemory(1_000), (value) => value.length);
    const versions = generations.versionsIn(windowOf("a"));
    cache.set("answer", { value: "old", versions });
    expect(cache.get("answer")?.value).to.equal("old");
    await write("a");
    expect(cache.get("answer")).to.equal(undefined);
    const current = generations.versionsIn(windowOf("a"));
    cache.set("answer", { value: "new", versions: current });
    cache.set("answer", { value: "old", versions });
    expect(cache.get("answer")?.value).to.equal("new");
  });

  for (const isShared of [false, true]) {
    it(`of a day end with a write to it, and those of 111 days before and after it stay, ${isShared ? "with generations that processes share" : "in a process by itself"}`, async () => {
      const shared = isShared ? new SharedInvalidation(sharedInMemory(), 60_000) : undefined;
      const own = new Generations(24, { exclusive: !isShared, shared });
      const day = (n: number): SeriesWindow => ({ ...windowOf("a"), from: n * 24 * HOUR, to: (n + 1) * 24 * HOUR });
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

/** The shared counts of a single process. */
function sharedInMemory(): SharedGenerations {
  const counts = new Map<number, number>();
  let version = 0;
  return {
    async increment(at) {
      version += 1;
      for (const index of at) counts.set(index, (counts.get(index) ?? 0) + 1);
      return counts;
    },
    read: async (known) => (known === version ? undefined : { version, counts }),
  };
}
