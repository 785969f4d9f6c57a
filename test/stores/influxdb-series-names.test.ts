import { expect } from "chai";
import { stream } from "../../src/metrics/dimensions.js";
import { SeriesNames } from "../../src/stores/influxdb/series-names.js";
import { collectGarbage } from "../support/collect-garbage.js";

const SECOND = 1_000;

describe("the list of series that InfluxDB holds", () => {
  let time = 0;
  let onServer: string[] = [];
  let loads = 0;
  let failure: Error | undefined;
  let names: SeriesNames;

  beforeEach(() => {
    time = 0;
    onServer = [];
    loads = 0;
    failure = undefined;
    const load = async (_: unknown, __: string, take: (id: string) => void) => {
      loads += 1;
      time += SECOND;
      if (failure !== undefined) throw failure;
      for (const id of [...onServer].sort()) take(id);
    };
    names = new SeriesNames(load, () => time);
  });

  function write(ids: readonly string[]): void {
    for (const id of ids) onServer.push(id);
    const [type = ""] = stream.storedTypes;
    names.written(ids.map((id) => ({ series: { dimension: stream, id, type }, from: 0, values: Float64Array.of(1) })));
  }

  const list = async (limit = 9) => (await names.list(stream, { prefix: "", limit })).map(({ id }) => id);

  it("has at once what this process wrote, without a second look at the server", async () => {
    write(["b"]);
    expect(await list()).to.deep.equal(["b"]);
    write(["a", "c"]);
    expect(await list()).to.deep.equal(["a", "b", "c"]);
    expect(loads).to.equal(1);
  });

  it("has what this process wrote, however much that was since the call before", async () => {
    await list();
    const many = Array.from({ length: 25_000 }, (_, n) => `id ${String(n).padStart(6, "0")}`);
    write(many);
    expect(await list(30_000)).to.deep.equal(many);
  });

  it("takes no memory for what is written while no call asks for it", async () => {
    await list();
    time += 600 * SECOND;
    const column = { from: 0, values: Float64Array.of(1) };
    const [type = ""] = stream.storedTypes;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 300_000; n += 1) {
      names.written([{ ...column, series: { dimension: stream, id: `a series of its own, ${n}`, type } }]);
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(5_000_000);
    expect(await list()).to.deep.equal([]);
  });

  it("asks a server that has just failed once for all calls that come then, and again soon", async () => {
    failure = new Error("The server is away");
    for (let call = 0; call < 5; call += 1) {
      expect(await list().catch((error: unknown) => error)).to.equal(failure);
      time += SECOND / 2;
    }
    expect(loads).to.equal(1);
    failure = undefined;
    write(["a"]);
    time += 3 * SECOND;
    expect(await list()).to.deep.equal(["a"]);
    expect(loads).to.equal(2);
  });
});
