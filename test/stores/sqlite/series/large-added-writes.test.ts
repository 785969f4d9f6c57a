import { expect } from "chai";
import { StartError } from "../../../../src/errors.js";
import { stream } from "../../../../src/metrics/dimensions.js";
import type { AddedPoints, Series } from "../../../../src/metrics/series.js";
import type { Database } from "../../../../src/stores/sqlite/connection.js";
import { metricsFile } from "../../../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { type SqliteSeriesStore, sqliteSeriesStore } from "../../../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../../../support/data-folder.js";

describe("a write of many added points to the embedded engine", () => {
  const START = Date.UTC(2024, 0, 1);
  const POINTS_AT_ONCE = 10;
  const COUNT = 100;
  let dir: string;
  let db: Database;
  let store: SqliteSeriesStore;
  /** The failpoint that fails, and the error. */
  let failing: string | undefined;

  beforeEach(() => {
    dir = dataFolder();
    failing = undefined;
    open();
  });
  afterEach(async () => {
    await store.close();
    db.close();
  });

  function open(): void {
    db = openDatabase(dir, metricsFile);
    const failpoint = (name: string) => {
      if (name === failing) throw new Error(`failed: ${name}`);
    };
    store = sqliteSeriesStore(db, { failpoint, pointsAtOnce: POINTS_AT_ONCE });
  }

  async function restart(): Promise<void> {
    failing = undefined;
    await store.close();
    db.close();
    open();
  }

  const series = (id: string): Series => ({ dimension: stream, id, type: "size" });
  const points = (value: number, hour = 0) =>
    Array.from({ length: COUNT }, (_, ns) => ({ ms: START + hour * stream.slotMs, ns, source: 0, value }));
  const write = (value: number): AddedPoints[] => [
    { series: series("old"), points: points(value) },
    { series: series("new"), points: points(value / 8, 1) },
  ];
  const read = async (id: string) => [
    ...((await store.read([{ series: series(id), from: START, to: START + 2 * stream.slotMs }]))[0] ?? []),
  ];
  const listed = async () => (await store.list(stream, { prefix: "", limit: 10 })).map(({ id }) => id);
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: Error) => error.message,
    );
  const rowsIn = (table: string) =>
    (db.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows;

  const expectStored = async (value: number) => {
    expect(await read("old")).to.deep.equal([COUNT * value, Number.NaN]);
    expect(await read("new")).to.deep.equal([Number.NaN, (COUNT * value) / 8]);
    expect(await listed()).to.deep.equal(["new", "old"]);
  };

  it("lets other writes be stored before it is and while its points are, and no read contains a part of it", async () => {
    const many = Array.from({ length: 300 }, (_, ms) => points(1).map((one) => ({ ...one, ms: one.ms + ms }))).flat();
    let hasEnded = false;
    const ended = store.add([{ series: series("old"), points: many }]).finally(() => {
      hasEnded = true;
    });
    const writes = new Map<number, number>();
    for (let value = 0; !hasEnded && value < 10_000; value += 1) {
      await store.write("clients", [{ series: series("other"), from: START, values: Float64Array.of(value) }]);
      expect(await read("other")).to.deep.equal([value, Number.NaN]);
      const [sum = 0] = await read("old");
      writes.set(sum, (writes.get(sum) ?? 0) + 1);
    }
    await ended;
    expect([...writes.keys()]).to.deep.equal([Number.NaN, many.length]);
    expect(writes.get(many.length)).to.be.above(1);
  });

  for (const after of ["a restart", "no restart"]) {
    it(`leaves nothing if it fails before its commit, and is then counted once: ${after}`, async () => {
      await store.add([{ series: series("old"), points: points(1).slice(0, 30) }]);
      failing = "added-points-prepared";
      expect(await failureOf(store.add(write(2)))).to.equal("failed: added-points-prepared");
      failing = undefined;
      if (after === "a restart") await restart();
      expect(await read("old")).to.deep.equal([30, Number.NaN]);
      expect(await read("new")).to.deep.equal([Number.NaN, Number.NaN]);
      expect(await listed()).to.deep.equal(["old"]);
      await store.fold();
      await store.add(write(2));
      await expectStored(2);
      expect(rowsIn("added_piece")).to.equal(0);
    });

    it(`is whole if it fails after its commit, and is corrected point by point: ${after}`, async () => {
      failing = "added-piece-stored";
      await store.add(write(1));
      expect(rowsIn("added_piece")).to.be.above(0);
      failing = undefined;
      if (after === "a restart") await restart();
      await expectStored(1);
      await store.add(write(1));
      await expectStored(1);
      await store.add(write(3));
      await expectStored(3);
      expect([rowsIn("added"), rowsIn("added_piece")]).to.deep.equal([2 * COUNT, 0]);
    });
  }

  it("leaves no series if a slot is settled", async () => {
    await store.add([{ series: series("old"), points: points(1) }]);
    await store.settle(START + stream.slotMs);
    expect(await failureOf(store.add(write(1)))).to.be.a("string");
    expect(await listed()).to.deep.equal(["old"]);
    expect([rowsIn("series"), rowsIn("added_piece")]).to.deep.equal([1, 0]);
  });

  it("lists a new series that another write has stored before it", async () => {
    const adding = store.add([{ series: series("old"), points: points(1) }, ...write(1)]);
    await store.write("clients", [{ series: series("new"), from: START, values: Float64Array.of(5) }]);
    expect(await listed()).to.include("new");
    await adding;
    await restart();
    expect(await read("new")).to.deep.equal([5, COUNT / 8]);
    expect(await listed()).to.deep.equal(["new", "old"]);
  });

  it("refuses the start, in one line, if one of its pieces is damaged before it is stored", async () => {
    failing = "added-piece-stored";
    await store.add(write(1));
    db.exec("UPDATE added_piece SET points = zeroblob(length(points)) WHERE id = (SELECT max(id) FROM added_piece)");
    expect(() => sqliteSeriesStore(db)).to.throw(
      StartError,
      /^Row \d+ of the table added_piece in metrics\.db is damaged: /,
    );
  });
});
