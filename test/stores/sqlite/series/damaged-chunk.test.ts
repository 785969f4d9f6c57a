import { expect } from "chai";
import { stream } from "../../../../src/metrics/dimensions.js";
import { checksumOf, signed } from "../../../../src/stores/sqlite/checksum.js";
import type { Database } from "../../../../src/stores/sqlite/connection.js";
import { metricsFile } from "../../../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { CHUNK_SLOTS, SLOT_ROW, type SlotRow, slotsOf } from "../../../../src/stores/sqlite/series/chunks.js";
import { type SqliteSeriesStore, sqliteSeriesStore } from "../../../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../../../support/data-folder.js";

const START = Math.ceil(Date.UTC(2024, 0, 1) / (CHUNK_SLOTS * stream.slotMs)) * CHUNK_SLOTS * stream.slotMs;
const SLOTS = 2 * CHUNK_SLOTS;

/** Changes after which a row cannot be read. */
const damages = {
  "a blob that is no list of numbers": "slots = x'00112233445566'",
  "a blob of more slots than a chunk has": `slots = zeroblob(${8 * (CHUNK_SLOTS + 1)})`,
  "a text in place of the blob": "slots = 'seven'",
  "a first slot that lies outside of the chunk": `first = ${CHUNK_SLOTS}`,
  "a first slot that is no number": "first = 'seven'",
};

describe("a damaged row of the embedded series store", () => {
  let dir: string;
  let db: Database;
  let store: SqliteSeriesStore;
  let reported: string[];
  /** The failpoint at which the process dies. */
  let death: string | undefined;

  beforeEach(async () => {
    death = undefined;
    dir = dataFolder();
    reported = [];
    open();
    await write(["a", "b"], 0, [1, 2]);
    await store.fold();
  });
  afterEach(async () => {
    await store.close();
    db.close();
  });

  function open(): void {
    db = openDatabase(dir, metricsFile);
    const failpoint = (name: string) => {
      if (name === death) throw new Error("killed");
    };
    store = sqliteSeriesStore(db, { failpoint, damaged: ({ message }) => reported.push(message) });
  }

  /** Simulates a process that is killed and started again. */
  async function restart(): Promise<void> {
    await store.close();
    db.close();
    open();
  }

  const seriesOf = (id: string) => ({ dimension: stream, id, type: "size" });
  const write = (ids: readonly string[], slot: number, values: readonly number[]) =>
    store.write(
      "clients",
      ids.map((id) => ({
        series: seriesOf(id),
        from: START + slot * stream.slotMs,
        values: Float64Array.from(values),
      })),
    );
  const read = async (id: string, from = 0, to = 4) => {
    const window = { series: seriesOf(id), from: START + from * stream.slotMs, to: START + to * stream.slotMs };
    return [...((await store.read([window]))[0] ?? [])];
  };
  const failure = async (work: Promise<unknown>) =>
    work.then(
      () => "",
      ({ message }: Error) => message,
    );
  const rowOfA = () => (db.prepare("SELECT min(id) AS row FROM chunk").get() as { row: number }).row;
  const damage = (as: string) => db.exec(`UPDATE chunk SET ${as} WHERE id = ${rowOfA()}`);
  const sumOfEmpty = () => signed(checksumOf(rowOfA(), 0, Buffer.from("0001000000000000f87f", "hex")));
  /** Runs the statement that the error of a read names. */
  const mend = async () =>
    db.exec(/REPLACE INTO chunk VALUES \([^)]*\)/.exec(await failure(read("a")))?.[0] ?? "no error");
  const journal = () =>
    db.prepare("SELECT count(*) AS records, total(length(record)) AS bytes FROM journal").get() as {
      records: number;
      bytes: number;
    };

  for (const [what, as] of Object.entries(damages)) {
    it(`keeps no other series from being read and folded: ${what}`, async () => {
      damage(as);
      await write(["a", "b"], 2, [3]);
      await store.fold();
      const folded = db.prepare(`SELECT ${SLOT_ROW} FROM chunk ORDER BY id DESC`).get() as unknown as SlotRow;
      expect([...slotsOf(folded).slots]).to.deep.equal([1, 2, 3]);
      expect(await read("b")).to.deep.equal([1, 2, 3, Number.NaN]);
      expect(await failure(read("a"))).to.equal(
        `Row ${rowOfA()} of the table chunk in metrics.db is damaged: stop the service, and put back a backup of the file or empty the row (REPLACE INTO chunk VALUES (${rowOfA()}, 0, x'0001000000000000f87f', ${sumOfEmpty()})), which loses up to 168 slots of one series`,
      );
    });
  }

  it("keeps no other chunk of its series from being read and folded", async () => {
    damage("first = -1");
    await write(["a"], CHUNK_SLOTS, [7]);
    await store.fold();
    expect(await read("a", CHUNK_SLOTS, CHUNK_SLOTS + 1)).to.deep.equal([7]);
    expect(journal().records).to.equal(0);
  });

  it("is reported once, however often its slots are to be folded", async () => {
    damage("first = -1");
    for (const slot of [2, 3, 4]) {
      await write(["a"], slot, [slot]);
      await store.fold();
    }
    expect(reported).to.have.length(1);
  });

  it("leaves what was written to it in the journal, where it takes no more than a chunk", async () => {
    damage("first = -1");
    for (let slot = 0; slot < 40; slot += 1) {
      await write(["a"], slot, [slot]);
      await store.fold();
      await store.fold();
    }
    const { records, bytes } = journal();
    expect(records).to.equal(1);
    expect(bytes).to.be.at.most(8 * (CHUNK_SLOTS + 3));
  });

  it("has the newest value of every slot that was written to it once it is removed", async () => {
    damage("first = -1");
    await write(["a"], 0, [10, 11, 12]);
    const folded = store.fold();
    await write(["a"], 1, [21]);
    await folded;
    await restart();
    await write(["a"], 2, [32, 33]);
    await store.fold();
    await restart();
    await mend();
    expect(await read("a")).to.deep.equal([10, 21, 32, 33]);
    await store.fold();
    expect(journal().records).to.equal(0);
    expect(await read("a")).to.deep.equal([10, 21, 32, 33]);
  });

  for (const at of ["journal-folded-some", "journal-appended", "journal-folded"]) {
    it(`has the newest value of every slot when the process dies in a fold: ${at}`, async () => {
      damage("first = -1");
      await write(["a", "b"], 0, [10, 11, 12]);
      death = at;
      const folded = failure(store.fold());
      await failure(write(["a", "b"], 1, [21]));
      expect(await folded).to.equal("killed");
      await restart();
      death = undefined;
      await write(["a", "b"], 2, [32]);
      await store.fold();
      await mend();
      for (const id of ["a", "b"]) expect(await read(id), id).to.deep.equal([10, 21, 32, Number.NaN]);
    });
  }

  it("lets a write of many slots to it and to others be kept", async () => {
    damage("first = -1");
    const values = Array.from({ length: SLOTS }, (_, slot) => slot + 1).with(0, Number.NaN);
    await write(["a", "b"], 0, values);
    await store.fold();
    expect(await read("b", 1, SLOTS)).to.deep.equal(values.slice(1));
    await mend();
    expect(await read("a", 0, SLOTS)).to.deep.equal(values);
  });
});
