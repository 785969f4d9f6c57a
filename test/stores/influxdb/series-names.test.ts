import { expect } from "chai";
import { CacheMemory } from "../../../src/cache-memory.js";
import { stream } from "../../../src/metrics/dimensions.js";
import type { Series } from "../../../src/metrics/series.js";
import { SeriesNames } from "../../../src/stores/influxdb/series-names.js";
import { collectGarbage } from "../../support/collect-garbage.js";

const SECOND = 1_000;

describe("the list of series in InfluxDB", () => {
  let time = 0;
  let onServer: string[] = [];
  let loads = 0;
  let failure: Error | undefined;
  let cache: CacheMemory;
  let names: SeriesNames;

  beforeEach(() => {
    time = 0;
    onServer = [];
    loads = 0;
    cache = new CacheMemory(2 ** 20);
    failure = undefined;
    const load = async (_: unknown, __: string, take: (id: string) => void) => {
      loads += 1;
      time += SECOND;
      if (failure !== undefined) throw failure;
      for (const id of [...onServer].sort()) take(id);
    };
    names = new SeriesNames(load, cache, () => time);
  });

  function write(ids: readonly string[]): void {
    for (const id of ids) onServer.push(id);
    names.written(ids.map(seriesOf));
  }

  function seriesOf(id: string): Series {
    return { dimension: stream, id, type: "size" };
  }

  const list = async (limit = 9) => (await names.list(stream, { prefix: "", limit })).map(({ id }) => id);

  it("contains a series that this process added at once, and is not loaded again for writes to known series", async () => {
    write(["b"]);
    expect(await list()).to.deep.equal(["b"]);
    write(["a", "c"]);
    expect(await list()).to.deep.equal(["a", "b", "c"]);
    expect(loads).to.equal(2);
    names.written([seriesOf("a")]);
    expect(await list()).to.deep.equal(["a", "b", "c"]);
    expect(loads).to.equal(2);
  });

  it("contains a series that was added during a load from the next call, and is loaded once for concurrent calls", async () => {
    await list();
    time += 10 * SECOND;
    const early = list();
    write(["late"]);
    const later = [list(), list(), list()];
    await early;
    for (const ids of await Promise.all(later)) expect(ids).to.deep.equal(["late"]);
    expect(loads).to.equal(3);
  });

  it("contains the series of another process after 10 s", async () => {
    await list();
    onServer.push("other");
    expect(await list()).to.deep.equal([]);
    time += 10 * SECOND;
    expect(await list()).to.deep.equal(["other"]);
  });

  it("counts in the memory of the caches, and once when it is loaded again", async () => {
    const id = "x".repeat(200);
    const bytes: number[] = [];
    for (const ids of [[], [id], [id], [id, `${id}2`]]) {
      onServer = ids;
      time += 10 * SECOND;
      await list();
      bytes.push(cache.bytes);
    }
    const [none, one, same, two] = bytes as [number, number, number, number];
    expect([none, same]).to.deep.equal([0, one]);
    expect(one).to.be.within(200, 400);
    expect(two - one).to.be.within(one, one + 1);
  });

  it("takes no memory for written series while it is not requested", async () => {
    await list();
    time += 600 * SECOND;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 300_000; n += 1) names.written([seriesOf(`a series of its own, ${n}`)]);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(5_000_000);
    expect(await list()).to.deep.equal([]);
  });

  it("is loaded once for concurrent calls if the server fails, and again for the next call", async () => {
    failure = new Error("The server is away");
    const calls = await Promise.all(Array.from({ length: 5 }, () => list().catch((error: unknown) => error)));
    for (const outcome of calls) expect(outcome).to.equal(failure);
    expect(loads).to.be.at.most(2);
    failure = undefined;
    write(["a"]);
    expect(await list()).to.deep.equal(["a"]);
  });
});
