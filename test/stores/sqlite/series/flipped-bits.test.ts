import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../../../../src/errors.js";
import { stream } from "../../../../src/metrics/dimensions.js";
import { closeDatabase, DatabaseSync, sqliteServiceError } from "../../../../src/stores/sqlite/connection.js";
import { metricsFile } from "../../../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { CHUNK_SLOTS, DamagedRow } from "../../../../src/stores/sqlite/series/chunks.js";
import { type SqliteSeriesStore, sqliteSeriesStore } from "../../../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../../../support/data-folder.js";

const START = Math.ceil(Date.UTC(2024, 0, 1) / (CHUNK_SLOTS * stream.slotMs)) * CHUNK_SLOTS * stream.slotMs;

/** Slots of each series: the first three are in chunks, the last two in the journal. */
const stored = { a: [1, 2, 3, 4, 5], b: [6, 7, 8, 9, 10], c: [11, 12, 13, Number.NaN, Number.NaN] } as const;
const twice = [...Object.values(stored), ...Object.values(stored)];
const names = Object.keys(stored) as (keyof typeof stored)[];
const seriesOf = (id: string) => ({ dimension: stream, id, type: "size" });

describe("a flipped bit of metrics.db", () => {
  let dir: string;
  let whole: Buffer;
  let rootOf: Map<string, number>;
  before(async () => {
    dir = dataFolder();
    const db = openDatabase(dir, metricsFile);
    const store = sqliteSeriesStore(db);
    for (const id of names) await write(store, id, 0, 3);
    await store.fold();
    for (const id of ["a", "b"] as const) await write(store, id, 3, 5);
    await store.close();
    const roots = db.prepare("SELECT name, rootpage FROM sqlite_schema").all() as { name: string; rootpage: number }[];
    rootOf = new Map(roots.map(({ name, rootpage }) => [name, rootpage]));
    closeDatabase(db);
    whole = readFileSync(join(dir, "metrics.db"));
  });
  after(() => rmSync(dir, { recursive: true }));

  function write(store: SqliteSeriesStore, id: (typeof names)[number], from: number, to: number): Promise<void> {
    const values = Float64Array.from(stored[id].slice(from, to));
    return store.write("clients", [{ series: seriesOf(id), from: START + from * stream.slotMs, values }]);
  }

  /** Every bit of the used bytes of the page that holds all rows of a table or index. */
  function* bitsOf(table: string): Iterable<{ readonly at: number; readonly bit: number; readonly isOfRow: boolean }> {
    const bytes = whole.readUInt16BE(16);
    const page = ((rootOf.get(table) as number) - 1) * bytes;
    const cells = whole.readUInt16BE(page + 5);
    for (let at = 0; at < bytes; at += 1) {
      const isUsed = at < 16 || at >= cells;
      for (let bit = 0; isUsed && bit < 8; bit += 1) yield { at: page + at, bit, isOfRow: at >= cells };
    }
  }

  /**
   * The values of each series, or the error of its read, with this bit flipped, also after a write and a fold; or the
   * error of the start.
   */
  async function outcomes(at: number, bit: number): Promise<readonly unknown[] | StartError> {
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
    const folder = join(dir, "flipped");
    mkdirSync(folder);
    writeFileSync(join(folder, "metrics.db"), flipped);
    const db = new DatabaseSync(join(folder, "metrics.db"));
    try {
      const store = sqliteSeriesStore(db);
      const window = { from: START, to: START + 5 * stream.slotMs };
      const read = () => Promise.allSettled(names.map((id) => store.read([{ series: seriesOf(id), ...window }])));
      const found = await read();
      // A repeated write does not make a loss permanent.
      for (const id of names) await write(store, id, 0, 1).catch(() => {});
      await store.fold().catch(() => {});
      found.push(...(await read()));
      await store.close();
      return found.map((one) => (one.status === "rejected" ? one.reason : [...(one.value[0] ?? [])]));
    } catch (error) {
      if (error instanceof StartError) return error;
      throw error;
    } finally {
      db.close();
      rmSync(folder, { recursive: true });
    }
  }

  function expectRightOrUnavailable(found: readonly unknown[], at: number, bit: number): void {
    for (const [i, one] of found.entries()) {
      if (Array.isArray(one)) expect(one, `byte ${at}, bit ${bit}`).to.deep.equal(twice[i]);
      else expect(one, `byte ${at}, bit ${bit}: ${one}`).to.satisfy(isUnavailable);
    }
  }

  const isUnavailable = (error: unknown) =>
    error instanceof DamagedRow || sqliteServiceError(error)?.kind === "unavailable";

  it("in a row of the journal refuses the start in one line, or changes no value", async function () {
    this.timeout(60_000);
    let refused = 0;
    for (const { at, bit } of bitsOf("journal")) {
      const found = await outcomes(at, bit);
      if (found instanceof StartError) {
        refused += 1;
        expect(found.message).to.match(
          /^[^\n]*table journal in metrics\.db is damaged[^\n]*: put back a backup of the file[^\n]*$/,
        );
      } else expect(found, `byte ${at}, bit ${bit}`).to.deep.equal(twice);
    }
    expect(refused).to.be.above(800);
  });

  it("in a row of a chunk fails its reads, or changes no value; other series are read", async function () {
    this.timeout(60_000);
    let [damaged, others] = [0, 0];
    for (const { at, bit, isOfRow } of bitsOf("chunk")) {
      const found = await outcomes(at, bit);
      if (found instanceof StartError) throw found;
      expectRightOrUnavailable(found, at, bit);
      if (isOfRow && found.some((one) => one instanceof DamagedRow)) {
        damaged += 1;
        if (found.filter(Array.isArray).length === 4) others += 1;
      }
    }
    expect(damaged).to.be.above(400);
    // A damaged number of a row may hide its neighbour as well.
    expect(others).to.be.above(0.99 * damaged);
  });

  it("or byte of the list of a series does not let its expiry remove the series", async () => {
    const folder = join(dir, "expired");
    mkdirSync(folder);
    writeFileSync(join(folder, "metrics.db"), whole);
    const db = openDatabase(folder, metricsFile);
    db.exec("UPDATE series SET chunks = NULL, sum = NULL WHERE dimension_id = 'c'");
    const store = sqliteSeriesStore(db);
    try {
      await store.expire(START - stream.slotMs);
      const read = store.read([{ series: seriesOf("c"), from: START, to: START + 5 * stream.slotMs }]);
      expect(await read.catch((error: unknown) => error)).to.be.instanceOf(DamagedRow);
    } finally {
      await store.close();
      db.close();
    }
  });

  for (const table of ["sqlite_autoindex_chunk_1", "series"]) {
    it(`in a row of ${table} refuses the start or fails reads, or changes no value`, async function () {
      this.timeout(60_000);
      let noticed = 0;
      for (const { at, bit } of bitsOf(table)) {
        const found = await outcomes(at, bit);
        if (found instanceof StartError) {
          expect(found.message).to.match(/^[^\n]*metrics\.db is damaged[^\n]*$/);
          noticed += 1;
          continue;
        }
        expectRightOrUnavailable(found, at, bit);
        if (!found.every(Array.isArray)) noticed += 1;
      }
      expect(noticed).to.be.above(100);
    });
  }
});
