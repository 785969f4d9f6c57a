import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import { type RecordPointsParts, recordPoints } from "../../src/metrics/record-points.js";
import type { Series, SlotColumn } from "../../src/metrics/series.js";
import type { SeriesWindow } from "../../src/metrics/series-store.js";
import { type OpenStores, temporaryStores } from "../support/stores.js";

const orders: Series = { dimension: stream, id: "orders", type: "size" };
const START = Date.UTC(2024, 0, 1);

describe("recording points", () => {
  let open: OpenStores;
  let steps: string[];
  let parts: RecordPointsParts;

  beforeEach(async () => {
    open = await temporaryStores();
    const { series, changes, claims } = open.stores;
    steps = [];
    const note = (step: string, windows: readonly Omit<SeriesWindow, "series">[]) => {
      const slots = windows.map(({ from, to }) => `${(from - START) / HOUR}-${(to - START) / HOUR}`);
      steps.push([step, ...slots].join(" "));
    };
    parts = {
      shared: false,
      store: {
        write(columns) {
          steps.push(`write ${columns.map(({ values }) => values.join(",")).join(" ")}`);
          return series.write(columns);
        },
      },
      changes: {
        announce(phase, windows) {
          note(phase, windows);
          return changes.announce(phase, windows);
        },
      },
      claims: {
        giveAway(columns) {
          note(
            "give away",
            columns.map(({ from, values }) => ({ from, to: from + values.length * HOUR })),
          );
          return claims.giveAway(columns);
        },
      },
    };
  });

  afterEach(() => open.close());

  const column = (...values: number[]) => ({ series: orders, from: START, values: Float64Array.from(values) });
  const read = async (slots: number) =>
    (await open.stores.series.read([{ series: orders, from: START, to: START + slots * HOUR }]))[0];

  it("gives the slots away, announces, writes and announces the end, in this order", async () => {
    await recordPoints(parts)([column(1, 2)]);
    expect(steps).to.deep.equal(["give away 0-2", "begin 0-2", "write 1,2", "end 0-2"]);
    expect(await read(2)).to.deep.equal(Float64Array.of(1, 2));
  });

  it("names only slots that it says something of", async () => {
    await recordPoints(parts)([column(1, Number.NaN, Number.NaN, 4, 5)]);
    expect(steps[1]).to.equal("begin 0-1 3-5");
  });

  it("gives nothing away when the recorder itself writes", async () => {
    await recordPoints(parts)([column(1)], { giveAway: false });
    expect(steps).to.deep.equal(["begin 0-1", "write 1", "end 0-1"]);
  });

  it("gives away once more what it has written, where a recorder may be at work in another process", async () => {
    await recordPoints({ ...parts, shared: true })([column(1, 2)]);
    expect(steps).to.deep.equal(["give away 0-2", "begin 0-2", "write 1,2", "give away 0-2", "end 0-2"]);
  });

  it("writes what a recorder claimed meanwhile once more, and nothing else", async () => {
    const { claims, series } = open.stores;
    const store = {
      async write(columns: readonly SlotColumn[]) {
        await parts.store.write(columns);
        const sample = { series: orders, slot: START + 2 * HOUR, value: 77 };
        if ((await claims.claim([sample])).length > 0) await claims.confirm([sample]);
        await series.write([{ series: orders, from: sample.slot, values: Float64Array.of(77) }]);
      },
    };
    await recordPoints({ ...parts, store, shared: true })([column(1, Number.NaN, 3, 4), column(9)]);
    expect(steps.filter((step) => step.startsWith("write"))).to.deep.equal([
      "write 1,NaN,3,4 9",
      "write NaN,NaN,3,NaN",
    ]);
  });

  it("does nothing for columns that say nothing", async () => {
    await recordPoints(parts)([column(Number.NaN), column()]);
    expect(steps).to.deep.equal([]);
  });

  it("announces the end of a write that failed, and tells the caller to come again", async () => {
    const failing = { ...parts, store: { write: () => Promise.reject(new Error("the disk is on fire")) } };
    const failure = await recordPoints(failing)([column(1)]).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ServiceError).with.property("kind", "unavailable");
    expect((failure as ServiceError).message).not.to.contain("fire");
    expect(steps.at(-1)).to.equal("end 0-1");
    expect(await read(1)).to.deep.equal(Float64Array.of(Number.NaN));
  });

  it("ends in the same state however often it is repeated", async () => {
    const record = recordPoints(parts);
    for (let i = 0; i < 3; i += 1) await record([column(7, Number.NaN, 9)]);
    await record([{ series: orders, from: START + HOUR, values: Float64Array.of(8) }]);
    expect(await read(3)).to.deep.equal(Float64Array.of(7, 8, 9));
  });
});
