import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { experience } from "../../src/metrics/dimensions/experience.js";
import { segment } from "../../src/metrics/dimensions/segment.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import type { Series } from "../../src/metrics/series.js";
import type { SeriesStore } from "../../src/metrics/series-store.js";

/** What every engine promises of saved slots; `forgets` says that it forgets as soon as it is told to. */
export function seriesStoreContract(
  name: string,
  open: () => Promise<{ series: SeriesStore; close(): Promise<void> }>,
  { forgets }: { readonly forgets: boolean } = { forgets: true },
): void {
  describe(`series store: ${name}`, () => {
    /** A week: the start of it in 2024 is the start of a chunk of hourly slots wherever a week is so many chunks. */
    const WEEK = 168;
    const start = Math.ceil(Date.UTC(2024, 1, 29) / (WEEK * HOUR)) * WEEK * HOUR;
    const views: Series = { dimension: stream, id: "views", type: "size" };
    let store: SeriesStore;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      store = opened.series;
      close = () => opened.close();
    });
    afterEach(() => close());

    const write = (values: readonly number[], hour = 0, series = views) =>
      store.write([{ series, from: start + hour * HOUR, values: Float64Array.from(values) }]);
    const read = async (from: number, to: number, series = views) =>
      [...((await store.read([{ series, from: start + from * HOUR, to: start + to * HOUR }]))[0] ?? [])].map((value) =>
        Number.isNaN(value) ? null : value,
      );

    it("hands out a column of exactly the window, also for a series that nobody wrote", async () => {
      expect(await read(-3, 2)).to.deep.equal([null, null, null, null, null]);
      expect(await read(2, 2)).to.deep.equal([]);
    });

    it("keeps every slot that is said, and leaves the others as they are", async () => {
      await write([1, 2, 3, 4]);
      await write([Number.NaN, 20, Number.NaN], 0);
      await write([30, 40, 50], 2);
      expect(await read(-1, 6)).to.deep.equal([null, 1, 20, 30, 40, 50, null]);
    });

    it("keeps the later of two columns of one call that name the same slot", async () => {
      const column = (value: number) => ({ series: views, from: start, values: Float64Array.of(value) });
      await store.write([column(1), column(2)]);
      expect(await read(0, 1)).to.deep.equal([2]);
    });

    it("keeps every double as it is", async () => {
      const values = [0, -1.5, 0.1, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_SAFE_INTEGER];
      await write(values);
      expect(await read(0, values.length)).to.deep.equal(values);
    });

    it("has chunks that a week can be cut into", () => {
      expect(WEEK % store.chunkSlots).to.equal(0);
    });

    for (const [from, length] of [
      [0, WEEK],
      [-1, 2],
      [-WEEK - 3, 3 * WEEK + 6],
      [5, WEEK],
      [WEEK - 1, 1],
    ] as const) {
      it(`keeps ${length} slots from slot ${from} of a chunk on, wherever a read begins and ends`, async () => {
        const values = Array.from({ length }, (_, i) => i + 0.5);
        await write(values, from);
        expect(await read(from, from + length)).to.deep.equal(values);
        expect(await read(from - 2, from + length + 2)).to.deep.equal([null, null, ...values, null, null]);
        expect(await read(from + length - 1, from + length)).to.deep.equal(values.slice(-1));
      });
    }

    it("keeps series apart by dimension, id and type, and answers windows in the order asked", async () => {
      const all: Series[] = [
        views,
        { dimension: stream, id: "Views", type: "size" },
        { dimension: segment, id: "views", type: "size" },
        { dimension: experience, id: "views", type: "size" },
        { dimension: experience, id: "views", type: "actualreach" },
        { dimension: experience, id: "vie'ws\" é %_", type: "actualreach" },
      ];
      await store.write(all.map((series, i) => ({ series, from: start, values: Float64Array.of(i) })));
      const windows = all.map((series) => ({ series, from: start, to: start + series.dimension.slotMs })).reverse();
      const columns = await store.read([...windows, ...windows]);
      expect(columns.map((column) => [...column])).to.deep.equal([5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0].map((i) => [i]));
    });

    it("reads slots of two hours as one each", async () => {
      const members: Series = { dimension: segment, id: "a", type: "size" };
      await store.write([{ series: members, from: start, values: Float64Array.of(7, 8) }]);
      expect(await read(-2, 6, members)).to.deep.equal([null, 7, 8, null]);
    });

    it("forgets slots before a moment and nothing after it, however often it is told to", async () => {
      const old = -30 * WEEK;
      await write([1, 2], old);
      await write([3, 4], -1);
      for (const _ of [1, 2]) await store.expire(start);
      if (forgets) expect(await read(old, old + 2)).to.deep.equal([null, null]);
      expect(await read(0, 1)).to.deep.equal([4]);
      await write([5], old);
      expect(await read(old, old + 1)).to.deep.equal([5]);
    });

    it("survives many writes at once", async () => {
      await Promise.all(Array.from({ length: 50 }, (_, i) => write([i], i)));
      expect(await read(0, 50)).to.deep.equal(Array.from({ length: 50 }, (_, i) => i));
    });
  });
}
