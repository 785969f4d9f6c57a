import { expect } from "chai";
import fc from "fast-check";
import { stream } from "../../../../src/metrics/dimensions.js";
import type { Database } from "../../../../src/stores/sqlite/connection.js";
import { metricsFile } from "../../../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { type SqliteSeriesStore, sqliteSeriesStore } from "../../../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../../../support/data-folder.js";
import { PointHistory, type Step, steps } from "../../point-histories.js";

/** Histories; the long run takes more. */
const HISTORIES = Number(process.env.POINT_HISTORIES ?? 80);

/** Where a process dies, between two transactions each. */
const DEATHS = [
  "added-points-prepared",
  "added-piece-stored",
  "journal-appended",
  "journal-folded-some",
  "journal-folded",
  "slots-settled",
];

describe("the journal of the embedded series store", () => {
  it(`has every slot of ${HISTORIES} random histories of set and added points, folds, settled slots, expiry and deaths as a table of them has it`, async function () {
    this.timeout(HISTORIES * 1_000);
    await fc.assert(fc.asyncProperty(fc.array(steps(DEATHS), { maxLength: 25 }), check), { numRuns: HISTORIES });
  });

  describe("that holds little", () => {
    const FOLD_BYTES = 2_000;
    const START = Date.UTC(2024, 0, 1);
    let dir: string;
    let db: Database;
    let store: SqliteSeriesStore;
    let failing: boolean;

    beforeEach(() => {
      dir = dataFolder();
      db = openDatabase(dir, metricsFile);
      failing = false;
      const fail = (name: string) => {
        if (failing && name === "journal-folded-some") throw new Error("the chunks cannot be written");
      };
      store = sqliteSeriesStore(db, { failpoint: fail, foldBytes: FOLD_BYTES });
    });
    afterEach(async () => {
      await store.close();
      db.close();
    });

    const columnsAt = (hour: number) =>
      ["a", "b", "c"].map((id) => ({
        series: { dimension: stream, id, type: "size" },
        from: START + hour * stream.slotMs,
        values: Float64Array.of(hour),
      }));
    const write = (hour: number) => store.write("clients", columnsAt(hour));
    const read = async (hours: number) => {
      const windows = columnsAt(0).map(({ series }) => ({ series, from: START, to: START + hours * stream.slotMs }));
      return (await store.read(windows)).map((column) => [...column]);
    };
    const journalBytes = () =>
      (db.prepare("SELECT total(length(record)) AS bytes FROM journal").get() as { bytes: number }).bytes;
    const hours = (count: number) => Array.from({ length: count }, (_, hour) => hour);

    it("lets writers wait while the fold is behind, so that it stays small", async () => {
      let most = 0;
      const writing = hours(400).map((hour) => write(hour).then(() => (most = Math.max(most, journalBytes()))));
      await Promise.all(writing);
      for (const hour of hours(400)) {
        await write(400 + hour);
        most = Math.max(most, journalBytes());
      }
      expect(await read(800)).to.deep.equal([hours(800), hours(800), hours(800)]);
      const oneGroup = 400 * 3 * 24;
      expect(most).to.be.within(FOLD_BYTES, 2 * FOLD_BYTES + oneGroup);
    });

    it("has folded everything, and removed the records, when a fold ends", async () => {
      for (const hour of hours(5)) await write(hour);
      expect(journalBytes()).to.be.above(0);
      await store.fold();
      expect(journalBytes()).to.equal(0);
      expect(db.prepare("SELECT count(*) AS rows FROM chunk").get()).to.deep.include({ rows: 3 });
      expect(await read(5)).to.deep.equal([hours(5), hours(5), hours(5)]);
    });

    it("ends a fold while writers continue", async () => {
      await write(0);
      let isDone = false;
      const folded = store.fold().then(() => (isDone = true));
      let hour = 1;
      while (!isDone && hour < 2_000) await write(hour++);
      await folded;
      expect(hour).to.be.below(2_000);
    });

    it("removes what is too old, also while it cannot be folded", async () => {
      await write(0);
      await store.fold();
      await write(1);
      failing = true;
      await store.expire(START + 1_000 * stream.slotMs);
      expect(db.prepare("SELECT count(*) AS rows FROM chunk").get()).to.deep.include({ rows: 0 });
      failing = false;
      await store.expire(START + 1_000 * stream.slotMs);
      expect(await read(2)).to.deep.equal(Array(3).fill([Number.NaN, Number.NaN]));
    });

    it("refuses writers, and no readers, while it is full and cannot be folded, and recovers", async () => {
      failing = true;
      let written = 0;
      const failure = await (async () => {
        for (; written < 1_000; written += 1) await write(written);
      })().catch((error: Error) => error.message);
      expect(failure).to.equal("the chunks cannot be written");
      expect(await read(written)).to.deep.equal([hours(written), hours(written), hours(written)]);
      failing = false;
      await write(written);
      await store.fold();
      expect(journalBytes()).to.equal(0);
      expect((await read(written + 1))[0]).to.deep.equal(hours(written + 1));
    });
  });
});

async function check(history: readonly Step[]): Promise<void> {
  const slots = new PointHistory();
  try {
    for (const step of history) await slots.take(step);
  } finally {
    await slots.end();
  }
}
