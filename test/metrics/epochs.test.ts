import { expect } from "chai";
import { type Chunk, chunksOf, Epochs, joinTokens, TokenCache } from "../../src/metrics/cache/epochs.js";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import type { SeriesWindow } from "../../src/metrics/ports.js";

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
    epochs = new Epochs(CHUNK_SLOTS);
  });
  const write = (id: string) => epochs.write([windowOf(id)], async () => {});

  it("are current until the chunk is written, and never when they were taken during a write", async () => {
    const before = epochs.token(chunkOf("a"));
    expect(epochs.isCurrent(before)).to.equal(true);
    await epochs.write([windowOf("a")], async () => {
      const during = epochs.token(chunkOf("a"));
      expect([before, during].map((token) => epochs.isCurrent(token))).to.deep.equal([false, false]);
      expect(epochs.isCurrent(epochs.token(chunkOf("b")))).to.equal(true);
    });
    expect(epochs.isCurrent(before)).to.equal(false);
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
    const cache = new TokenCache<string>(epochs, 1_000, (value) => value.length);
    const token = epochs.token(chunkOf("a"));
    cache.keep("answer", { value: "old", token });
    expect(cache.get("answer")?.value).to.equal("old");
    await write("a");
    expect(cache.get("answer")).to.equal(undefined);
    const current = epochs.token(chunkOf("a"));
    cache.keep("answer", { value: "new", token: current });
    cache.keep("answer", { value: "old", token });
    expect(cache.get("answer")?.value).to.equal("new");
  });
});
