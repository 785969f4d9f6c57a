import { expect } from "chai";
import { CacheMemory } from "../../src/cache-memory.js";
import { type Chunk, chunksOf, Epochs, joinTokens, TokenCache } from "../../src/metrics/cache/generations.js";
import { SharedInvalidation } from "../../src/metrics/cache/shared-invalidation.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SeriesWindow, SharedEpochs } from "../../src/metrics/ports.js";

const CHUNK_SLOTS = 168;
const windowOf = (id: string): SeriesWindow => ({
  series: { dimension: stream, id, type: "size" },
  from: 0,
  to: HOUR,
});
const chunkOf = (id: string) => chunksOf(windowOf(id), CHUNK_SLOTS)[0] as Chunk;

describe("read tokens", () => {
  let epochs: Epochs;
  beforeEach(() => {
    epochs = new Epochs(CHUNK_SLOTS, { exclusive: true });
  });
  const write = (id: string) => epochs.written([windowOf(id)]);

  it("are current until their chunk is written, and no longer, also if they were taken during the write", async () => {
    const [before, other] = [epochs.token(chunkOf("a")), epochs.token(chunkOf("b"))];
    expect(epochs.isCurrent(before)).to.equal(true);
    await write("a");
    expect([before, other].map((token) => epochs.isCurrent(token))).to.deep.equal([false, true]);
    expect(epochs.isCurrent(epochs.token(chunkOf("a")))).to.equal(true);
  });

  it("are current together while each of them is", async () => {
    const joined = joinTokens(["a", "b", "a"].map((id) => epochs.token(chunkOf(id))));
    expect(epochs.isCurrent(joined)).to.equal(true);
    await write("b");
    expect(epochs.isCurrent(joined)).to.equal(false);
  });

  it("are never current together when one of two of the same chunk was taken before a write of it", async () => {
    const before = epochs.token(chunkOf("a"));
    await write("a");
    const after = epochs.token(chunkOf("a"));
    for (const tokens of [
      [before, after],
      [after, before],
      [after, before, after],
    ]) {
      expect(epochs.isCurrent(joinTokens(tokens))).to.equal(false);
    }
    expect(epochs.isCurrent(joinTokens([after, after]))).to.equal(true);
  });

  it("end what is kept under them, and an entry that is out of date is not kept", async () => {
    const cache = new TokenCache<string>(epochs, new CacheMemory(1_000), (value) => value.length);
    const token = epochs.token(chunkOf("a"));
    cache.set("answer", { value: "old", token });
    expect(cache.get("answer")?.value).to.equal("old");
    await write("a");
    expect(cache.get("answer")).to.equal(undefined);
    const current = epochs.token(chunkOf("a"));
    cache.set("answer", { value: "new", token: current });
    cache.set("answer", { value: "old", token });
    expect(cache.get("answer")?.value).to.equal("new");
  });

  for (const isShared of [false, true]) {
    it(`of a day end with a write to it, and those of 111 days before and after it stay, ${isShared ? "with epochs that processes share" : "in a process by itself"}`, async () => {
      const shared = isShared ? new SharedInvalidation({ shared: sharedInMemory(), deadlineMs: 60_000 }) : undefined;
      const own = new Epochs(24, { exclusive: !isShared, shared });
      const day = (n: number): SeriesWindow => ({ ...windowOf("a"), from: n * 24 * HOUR, to: (n + 1) * 24 * HOUR });
      const tokens = () => Array.from({ length: 223 }, (_, n) => own.token(chunksOf(day(n + 19_000), 24)[0] as Chunk));
      const before = tokens();
      await own.written([day(19_111)]);
      const after = tokens();
      const changed = before.flatMap(({ epochs: [epoch] }, n) => (after[n]?.epochs[0] === epoch ? [] : [n]));
      expect(changed).to.deep.equal([111]);
      shared?.close();
    });
  }
});

/** The shared counts of a single process. */
function sharedInMemory(): SharedEpochs {
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
