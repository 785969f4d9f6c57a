import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { type Dimension, experience, HOUR, segment, stream } from "../../src/metrics/dimensions.js";
import { type SeriesStore, type SettingSource, settingSources, type ValueSource } from "../../src/metrics/ports.js";
import type { AddedPoint, Series } from "../../src/metrics/series.js";

/** Promises of every engine on saved slots; `forgets`: `expire` removes them at once. */
export function seriesStoreContract(
  name: string,
  open: () => Promise<{ series: SeriesStore; close(): Promise<void> }>,
  { forgets }: { readonly forgets: boolean } = { forgets: true },
): void {
  describe(`the series store of ${name}`, () => {
    /**
     * Hours of a week. In 2024 `start` is the start of a chunk of hourly slots if a week is a whole number of chunks.
     */
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

    const write = (values: readonly number[], hour = 0, series = views, source: SettingSource = "clients") =>
      store.write(source, [{ series, from: start + hour * HOUR, values: Float64Array.from(values) }]);
    const read = async (from: number, to: number, series = views, source?: ValueSource) => {
      const [column] = await store.read([{ series, from: start + from * HOUR, to: start + to * HOUR }], source);
      return [...(column ?? [])].map((value) => (Number.isNaN(value) ? null : value));
    };

    const point = (value: number, more: Partial<AddedPoint> = {}) => ({ ms: 0, ns: 0, source: 0, value, ...more });
    /** Adds points whose times are relative to an hour. */
    const add = (points: readonly AddedPoint[], hour = 0, series = views) =>
      store.add([{ series, points: points.map((one) => ({ ...one, ms: start + hour * HOUR + one.ms })) }]);
    const issueOf = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error: unknown) => (error instanceof ServiceError ? error.issues[0]?.code : error),
      );

    it("returns a column of exactly the window, also for a series that was never written", async () => {
      expect(await read(-3, 2)).to.deep.equal([null, null, null, null, null]);
      expect(await read(2, 2)).to.deep.equal([]);
    });

    it("stores every slot of a column that has a value, and leaves the other slots unchanged", async () => {
      await write([1, 2, 3, 4]);
      await write([Number.NaN, 20, Number.NaN], 0);
      await write([30, 40, 50], 2);
      expect(await read(-1, 6)).to.deep.equal([null, 1, 20, 30, 40, 50, null]);
    });

    it("stores the later of two values for the same slot in one call", async () => {
      const column = (value: number) => ({ series: views, from: start, values: Float64Array.of(value) });
      await store.write("clients", [column(1), column(2)]);
      expect(await read(0, 1)).to.deep.equal([2]);
    });

    it("stores every double exactly", async () => {
      const values = [0, -1.5, 0.1, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_SAFE_INTEGER];
      await write(values);
      expect(await read(0, values.length)).to.deep.equal(values);
    });

    it("has chunks whose length divides a week", () => {
      expect(WEEK % store.chunkSlots).to.equal(0);
    });

    for (const [from, length] of [
      [0, WEEK],
      [-1, 2],
      [-WEEK - 3, 3 * WEEK + 6],
      [5, WEEK],
      [WEEK - 1, 1],
    ] as const) {
      it(`returns ${length} slots that begin at slot ${from} of a chunk, wherever a read begins and ends`, async () => {
        const values = Array.from({ length }, (_, i) => i + 0.5);
        await write(values, from);
        expect(await read(from, from + length)).to.deep.equal(values);
        expect(await read(from - 2, from + length + 2)).to.deep.equal([null, null, ...values, null, null]);
        expect(await read(from + length - 1, from + length)).to.deep.equal(values.slice(-1));
      });
    }

    it("distinguishes series by dimension, id and type, and returns windows in the requested order", async () => {
      const all: Series[] = [
        views,
        { dimension: stream, id: "Views", type: "size" },
        { dimension: segment, id: "views", type: "size" },
        { dimension: experience, id: "views", type: "size" },
        { dimension: experience, id: "views", type: "actualreach" },
        { dimension: experience, id: "vie'ws\" é %_", type: "actualreach" },
      ];
      await store.write(
        "clients",
        all.map((series, i) => ({ series, from: start, values: Float64Array.of(i) })),
      );
      const windows = all.map((series) => ({ series, from: start, to: start + series.dimension.slotMs })).reverse();
      const columns = await store.read([...windows, ...windows]);
      expect(columns.map((column) => [...column])).to.deep.equal([5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0].map((i) => [i]));
    });

    it("returns one value for each slot of two hours", async () => {
      const members: Series = { dimension: segment, id: "a", type: "size" };
      await store.write("clients", [{ series: members, from: start, values: Float64Array.of(7, 8) }]);
      expect(await read(-2, 6, members)).to.deep.equal([null, 7, 8, null]);
    });

    it("expires slots before an instant and none after it, also repeatedly", async () => {
      const old = -30 * WEEK;
      for (const source of settingSources) await write([1, 2], old, views, source);
      await add([point(3)], old + 2);
      await write([3, 4], -1);
      for (const _ of [1, 2]) await store.expire(start);
      if (forgets) expect(await read(old, old + 3)).to.deep.equal([null, null, null]);
      expect(await read(0, 1)).to.deep.equal([4]);
      await write([5], old);
      expect(await read(old, old + 1)).to.deep.equal([5]);
    });

    for (const first of settingSources) {
      it(`returns the value of the clients where there is one, else the value of the recorder: ${first} first`, async () => {
        const writes = {
          clients: () => write([1, Number.NaN, 3, 4], -1, views, "clients"),
          recorder: () => write([5, 6, Number.NaN, 8, 9], 0, views, "recorder"),
        };
        await writes[first]();
        for (const source of settingSources) await writes[source]();
        expect(await read(-2, 6)).to.deep.equal([null, 1, 5, 3, 4, 8, 9, null]);
        expect(await read(1, 3), "within").to.deep.equal([3, 4]);
        expect(await read(-2, 6, views, "clients")).to.deep.equal([null, 1, null, 3, 4, null, null, null]);
        expect(await read(-2, 6, views, "recorder")).to.deep.equal([null, null, 5, 6, null, 8, 9, null]);
      });
    }

    it("replaces a value in its own source, and leaves the other source unchanged", async () => {
      await write([1], 0, views, "recorder");
      await write([2], 0, views, "recorder");
      expect(await read(0, 1)).to.deep.equal([2]);
      await write([10], 0, views, "clients");
      await write([3], 0, views, "recorder");
      expect(await read(0, 1)).to.deep.equal([10]);
      await write([11], 0, views, "clients");
      expect(await read(0, 1)).to.deep.equal([11]);
      expect(await read(0, 1, views, "recorder")).to.deep.equal([3]);
    });

    it("adds the points of a slot, each once: a series, a source and an instant in nanoseconds identify it", async () => {
      const points = [
        point(1),
        point(2, { ns: 1 }),
        point(4, { ms: 1 }),
        point(8, { source: 7 }),
        point(0.5, { ms: HOUR - 1, ns: 999_999 }),
      ];
      await add(points);
      expect(await read(-1, 2)).to.deep.equal([null, 15.5, null]);
      await Promise.all([
        add(points),
        add([point(-16, { ms: HOUR }), ...points.slice(0, 2)]),
        add([point(32, { source: 2 ** 48 - 1 })]),
      ]);
      expect(await read(-1, 3)).to.deep.equal([null, 47.5, -16, null]);
      await add([point(3, { ms: 5 }), point(0, { ms: 5 })], 2);
      expect(await read(2, 3), "0 is a value, and the later of two wins").to.deep.equal([0]);
      expect(await read(0, 3, views, "added")).to.deep.equal([47.5, -16, 0]);
      expect(await read(0, 3, views, "clients")).to.deep.equal([null, null, null]);
      expect(await read(0, 1, { ...views, id: "other" })).to.deep.equal([null]);
    });

    it("replaces the value of an added point, also by a much smaller one", async () => {
      await add([point(0.25), point(1e300, { ms: 1 }), point(2, { ms: 2 }), point(5, { ms: HOUR })]);
      await add([point(1, { ms: 1 }), point(7, { ms: HOUR })]);
      expect(await read(0, 2)).to.deep.equal([3.25, 7]);
    });

    it("counts tiny values of added points exactly: they can be replaced, and are left when a larger one is", async () => {
      await add([point(1e-17), point(-1e-17, { ms: HOUR }), point(1, { ms: 1 }), point(5e-324, { ms: 2 * HOUR })]);
      expect(await read(0, 3)).to.deep.equal([1, -1e-17, 5e-324]);
      await add([point(0, { ms: 1 }), point(0, { ms: HOUR }), point(0, { ms: 2 * HOUR })]);
      expect(await read(0, 3)).to.deep.equal([1e-17, 0, 0]);
    });

    it("keeps the sum of a settled slot, and adds to the slots after it", async () => {
      const members: Series = { dimension: segment, id: "a", type: "size" };
      for (const series of [views, members])
        await add([point(1), point(2, { ns: 5 }), point(4, { ms: 2 * HOUR })], 0, series);
      for (const before of [2, 2, 1]) await store.settle(start + before * HOUR);
      expect(await read(0, 3)).to.deep.equal([3, null, 4]);
      for (const series of [views, members]) await add([point(8, { ms: 2 * HOUR + 1 })], 0, series);
      expect(await read(0, 3)).to.deep.equal([3, null, 12]);
      expect(await read(0, 4, members)).to.deep.equal([3, 12]);
      if (!forgets) return;
      expect(await issueOf(add([point(9, { ms: 5 }), point(9, { ms: 3 * HOUR })]))).to.equal("before_retention");
      expect(await read(0, 4)).to.deep.equal([3, null, 12, null]);
    });

    it("returns the value of the clients, else the sum of added points, else the value of the recorder", async () => {
      const writes = [
        () => write([10, Number.NaN, 30], 0, views, "clients"),
        () => add([point(1), point(2, { ms: HOUR }), point(2, { ms: HOUR + 1 })]),
        () => write([100, 200, 300, 400], 0, views, "recorder"),
      ];
      for (const order of [
        [0, 1, 2],
        [2, 1, 0],
        [1, 2, 0],
      ]) {
        for (const i of order) await writes[i]?.();
        expect(await read(0, 5), order.join()).to.deep.equal([10, 4, 30, 400, null]);
      }
      expect(await sum(0, 2)).to.deep.equal([10, 4]);
      await add([point(5, { ms: HOUR }), point(6, { ms: 4 * HOUR })], 0, { ...views, id: "other" });
      expect(await sum(0, 5)).to.deep.equal([10, 9, 30, 400, 6]);
      expect(await list(stream)).to.deep.equal(["other size", "views size"]);
    });

    it("returns the limit of doubles for a sum beyond it, and keeps the points: a correction gives the right sum", async () => {
      const large = Number.MAX_VALUE;
      const many = Array.from({ length: 10 }, (_, ms) => point(3e307, { ms }));
      await Promise.all(many.map((one) => add([one])));
      await add([point(-large, { source: 1 }), point(-large, { source: 2 })], 1);
      expect(await read(-1, 2)).to.deep.equal([null, large, -large]);
      expect(await read(0, 2, views, "added")).to.deep.equal([large, -large]);
      expect(await sum(0, 2)).to.deep.equal([large, -large]);
      await write([5], 1, views, "recorder");
      expect(await read(0, 2)).to.deep.equal([large, -large]);
      await add(many.slice(2).map((one) => ({ ...one, value: 0.5 })));
      await add([point(2, { source: 1 })], 1);
      expect(await read(0, 2)).to.deep.equal([6e307, -large]);
      await write([7], 1);
      expect(await read(0, 2)).to.deep.equal([6e307, 7]);
    });

    for (const values of [
      [1e308, 1e308, -1e308],
      [1e308, -1e308, 1e308],
      [-1e308, 1e308, 1e308],
    ]) {
      it(`adds ${values.join(", ")} to 1e308, of one source, of several and in several series`, async () => {
        await add(values.map((value, ms) => point(value, { ms })));
        await add(
          values.map((value, source) => point(value, { source })),
          1,
        );
        for (const [i, value] of values.entries()) await add([point(value, { ms: i })], 2, { ...views, id: "other" });
        expect(await read(0, 2)).to.deep.equal([1e308, 1e308]);
        expect(await read(2, 3, { ...views, id: "other" })).to.deep.equal([1e308]);
        expect(await sum(0, 3)).to.deep.equal([1e308, 1e308, 1e308]);
      });
    }

    const all: Series = { dimension: stream, id: stream.sumId, type: "size" };
    const sum = (from: number, to: number) => read(from, to, all);

    it("sums all series of a dimension and type by slot, each with the value of the clients or else of the recorder", async () => {
      expect(await sum(-1, 3)).to.deep.equal([null, null, null, null]);
      expect(await sum(2, 2)).to.deep.equal([]);
      await write([1, 2, Number.NaN, 4]);
      await write([10, 20, 30, Number.NaN], 0, views, "recorder");
      await write([100, Number.NaN, 300], 0, { ...views, id: 'odd"id,\u{1f600}' }, "recorder");
      await write([1_000, 2_000], 1, { ...views, id: "other" });
      await write([7, 7, 7, 7], 0, { dimension: experience, id: "views", type: "size" });
      expect(await sum(-1, 5)).to.deep.equal([null, 101, 1_002, 2_330, 4, null]);
      expect(await sum(1, 3)).to.deep.equal([1_002, 2_330]);
      await write([5], 2, { ...views, id: "other" });
      await write([6], 2, { ...views, id: "new" });
      expect(await sum(1, 4)).to.deep.equal([1_002, 341, 4]);
      const windows = [views, all, views].map((series) => ({ series, from: start + HOUR, to: start + 2 * HOUR }));
      expect((await store.read(windows)).map((column) => [...column])).to.deep.equal([[2], [1_002], [2]]);
    });

    it("sums values of several chunks, up to the largest finite double", async () => {
      await write([1], -2 * WEEK);
      await write([2], WEEK + 3, { ...views, id: "b" });
      const sums = await sum(-2 * WEEK - 1, WEEK + 5);
      expect(sums.flatMap((value, i) => (value === null ? [] : [[i, value]]))).to.deep.equal([
        [1, 1],
        [3 * WEEK + 4, 2],
      ]);
      for (const id of ["c", "d"]) await write([Number.MAX_VALUE, -Number.MAX_VALUE], 40, { ...views, id });
      expect(await sum(40, 42)).to.deep.equal([Number.MAX_VALUE, -Number.MAX_VALUE]);
    });

    it("stores every value of many concurrent writes", async () => {
      await Promise.all(Array.from({ length: 50 }, (_, i) => write([i], i)));
      expect(await read(0, 50)).to.deep.equal(Array.from({ length: 50 }, (_, i) => i));
    });

    const list = async (dimension: Dimension, page: { prefix?: string; after?: string; limit?: number } = {}) =>
      (await store.list(dimension, { prefix: "", limit: 100, ...page })).map(({ id, types }) =>
        [id, ...types].join(" "),
      );

    it("lists a series as soon as it is written, and nothing before", async () => {
      expect(await list(stream)).to.deep.equal([]);
      await store.read([{ series: views, from: start, to: start + HOUR }]);
      await write([Number.NaN]);
      expect(await list(stream)).to.deep.equal([]);
      await write([1]);
      expect(await list(stream)).to.deep.equal(["views size"]);
      await write([1], 0, { ...views, id: "clicks" }, "recorder");
      expect(await list(stream)).to.deep.equal(["clicks size", "views size"]);
      expect(await list(segment)).to.deep.equal([]);
    });

    it("lists the stored types of each id, in the order of the dimension", async () => {
      for (const type of ["converted", "size", "potentialreach"])
        await write([1], 0, { dimension: experience, id: "b", type });
      await write([1], 0, { dimension: experience, id: "a", type: "actualreach" });
      const types = experience.storedTypes.filter((type) => ["converted", "size", "potentialreach"].includes(type));
      expect(await list(experience)).to.deep.equal(["a actualreach", `b ${types.join(" ")}`]);
      expect(await list(experience, { limit: 1 })).to.deep.equal(["a actualreach"]);
      expect(await list(experience, { limit: 1, after: "a" })).to.deep.equal([`b ${types.join(" ")}`]);
    });

    it("lists and counts ids by prefix and contained text, in the order of their UTF-8 bytes or the reverse, in pages", async () => {
      const names = ["A", "a", "a%", "a_b", "ab", "ab,c", 'ab"', "b c", "Apple", "pineAPPLE", "x.Äpfel", "x.äpfel"];
      const ids = [...names, "\uff5e", "\u{1f600}", "\u{1f600}apple"];
      ids.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      await list(experience);
      const series = ids.toReversed().flatMap((id, n) => {
        const types = n % 2 === 0 ? ["size"] : ["size", "converted", "actualreach"];
        return types.map((type): Series => ({ dimension: experience, id, type }));
      });
      await store.write(
        "clients",
        series.map((one) => ({ series: one, from: start, values: Float64Array.of(1) })),
      );
      for (const contains of ["", "apple", "ä", "no such text"]) {
        for (const prefix of ["", "a", "ab", "a_", "a%", "A", "x", "zz", "\u{1f600}"]) {
          const wanted = ids.filter((id) => id.startsWith(prefix) && id.toLowerCase().includes(contains));
          expect(await store.count(experience, { prefix, contains }), `${prefix} ${contains}`).to.equal(wanted.length);
          for (const descending of [false, true]) {
            for (const limit of [1, 3, 100]) {
              const found: string[] = [];
              for (let after: string | undefined; ; ) {
                const from = after === undefined ? {} : { after };
                const page = await store.list(experience, { prefix, contains, limit, descending, ...from });
                found.push(...page.map(({ id }) => id));
                after = page.at(-1)?.id;
                if (page.length < limit) break;
              }
              const inOrder = descending ? wanted.toReversed() : wanted;
              expect(found, `${prefix} ${contains} ${descending} ${limit}`).to.deep.equal(inOrder);
            }
          }
        }
      }
      expect(await list(experience, { prefix: "b", after: "a" })).to.have.length(1);
      expect(await list(experience, { prefix: "a", after: "b" })).to.deep.equal([]);
      expect(await store.count(experience, { prefix: "" })).to.equal(ids.length);
      expect(await store.count(stream, { prefix: "" })).to.equal(0);
    });

    if (forgets) {
      it("does not list a series whose slots have all expired, until it is written again", async () => {
        await write([1]);
        await write([1], 0, { ...views, id: "later" });
        await write([1], 20 * WEEK, { ...views, id: "later" });
        await store.expire(start + 10 * WEEK * HOUR);
        expect(await list(stream)).to.deep.equal(["later size"]);
        expect(await store.count(stream, { prefix: "" })).to.equal(1);
        await write([5]);
        expect(await list(stream)).to.deep.equal(["later size", "views size"]);
        expect(await read(0, 1)).to.deep.equal([5]);
        expect(await read(20 * WEEK, 20 * WEEK + 1, { ...views, id: "later" })).to.deep.equal([1]);
      });
    }
  });
}
