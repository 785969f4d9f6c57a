import { expect } from "chai";
import { Epochs } from "../../src/metrics/cache/epochs.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import { planes, type SeriesWindow } from "../../src/metrics/ports.js";
import type { Series } from "../../src/metrics/series.js";
import { type WritePointsParts, writePoints } from "../../src/metrics/write-points.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";

const orders: Series = { dimension: stream, id: "orders", type: "size" };
const START = Date.UTC(2024, 0, 1);

describe("recording points", () => {
  let open: OpenStores;
  let steps: string[];
  let parts: WritePointsParts;

  beforeEach(async () => {
    open = await openTemporaryStores();
    const { series } = open.stores;
    const epochs = new Epochs(series.chunkSlots, { exclusive: true });
    steps = [];
    const note = (step: string, windows: readonly Omit<SeriesWindow, "series">[]) => {
      const slots = windows.map(({ from, to }) => `${(from - START) / HOUR}-${(to - START) / HOUR}`);
      steps.push([step, ...slots].join(" "));
    };
    parts = {
      store: {
        write(plane, columns) {
          steps.push(`write ${plane} ${columns.map(({ values }) => values.join(",")).join(" ")}`);
          return series.write(plane, columns);
        },
      },
      epochs: {
        async written(windows) {
          await epochs.written(windows);
          note("written", windows);
        },
      },
    };
  });

  afterEach(() => open.close());

  const column = (...values: number[]) => ({ series: orders, from: START, values: Float64Array.from(values) });
  const read = async (slots: number) =>
    (await open.stores.series.read([{ series: orders, from: START, to: START + slots * HOUR }]))[0];

  for (const plane of planes) {
    it(`writes, and then announces the write: ${plane}`, async () => {
      await writePoints(parts)(plane, [column(1, 2)]);
      expect(steps).to.deep.equal([`write ${plane} 1,2`, "written 0-2"]);
      expect(await read(2)).to.deep.equal(Float64Array.of(1, 2));
    });
  }

  it("announces only slots that have a value", async () => {
    await writePoints(parts)("clients", [column(1, Number.NaN, Number.NaN, 4, 5)]);
    expect(steps.at(-1)).to.equal("written 0-1 3-5");
  });

  it("does nothing for columns that say nothing", async () => {
    await writePoints(parts)("clients", [column(Number.NaN), column()]);
    expect(steps).to.deep.equal([]);
  });

  it("announces a write that failed, and rejects as the store did", async () => {
    const fire = new Error("the disk is on fire");
    const failing = { ...parts, store: { write: () => Promise.reject(fire) } };
    const failure = await writePoints(failing)("clients", [column(1)]).catch((error: unknown) => error);
    expect(failure).to.equal(fire);
    expect(steps.at(-1)).to.equal("written 0-1");
    expect(await read(1)).to.deep.equal(Float64Array.of(Number.NaN));
  });
});
