import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../../../src/errors.js";
import { closeDatabase, DatabaseSync, inTransaction, isDamage } from "../../../src/stores/sqlite/connection.js";
import { lockFolder } from "../../../src/stores/sqlite/folder.js";
import { openDatabase } from "../../../src/stores/sqlite/open-database.js";
import { dataFolder } from "../../support/data-folder.js";

describe("the embedded engine", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  const schema = ["CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, name TEXT)"];
  const open = () => openDatabase(dir, { name: "x.db", schema });

  it("truncates the write-ahead log that grew while another process read the file", () => {
    const db = open();
    const walBytes = () => statSync(join(dir, "x.db-wal")).size;
    const insert = db.prepare("INSERT INTO thing (name) VALUES (?)");
    insert.run("first");
    const reader = new DatabaseSync(join(dir, "x.db"));
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM thing").get();
    for (let part = 0; part < 10; part += 1) insert.run("x".repeat(4_000_000));
    const most = walBytes();
    reader.exec("COMMIT");
    reader.close();
    for (let part = 0; part < 3; part += 1) insert.run("last");
    const left = walBytes();
    closeDatabase(db);
    expect(most).to.be.above(40_000_000);
    expect(left).to.be.at.most(32 * 1024 * 1024);
  });

  it("closes a file without loss if its log cannot be emptied, as the disk is full", () => {
    const db = open();
    db.exec("INSERT INTO thing (name) VALUES ('kept')");
    const exec = () => {
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    };
    closeDatabase({ exec, close: () => db.close() });
    expect(db.isOpen).to.equal(false);
    const next = open();
    expect({ ...(next.prepare("SELECT name FROM thing").get() as object) }).to.deep.equal({ name: "kept" });
    closeDatabase(next);
  });

  for (const [layout, reason] of [
    [7, /^\S+x\.db has layout 7, and this version .* reads layouts up to 3: start the newer version [^\n]+$/],
    [2, /^\S+x\.db has layout 2, from before version 1\.0\.0, [^\n]+ name an empty folder or database$/],
    [-1, /^\S+x\.db has layout -1, from before version 1\.0\.0, [^\n]+ name an empty folder or database$/],
  ] as const) {
    it(`refuses a file of the unknown layout ${layout} in one line, and leaves it unchanged`, () => {
      const other = new DatabaseSync(join(dir, "x.db"));
      other.exec(`CREATE TABLE other (id INTEGER); PRAGMA user_version = ${layout}`);
      other.close();
      const before = readFileSync(join(dir, "x.db"));
      expect(open).to.throw(StartError, reason);
      expect(readFileSync(join(dir, "x.db")).equals(before)).to.equal(true);
    });
  }

  it("refuses a file with a flipped bit in its list of tables, or keeps its rows: it creates no table again", () => {
    const db = open();
    db.exec("INSERT INTO thing (name) VALUES ('kept')");
    closeDatabase(db);
    const whole = readFileSync(join(dir, "x.db"));
    let refused = 0;
    const rows = whole.indexOf("tablething");
    for (let at = 100; at < 4_096; at = at === 110 ? rows : at + 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = Buffer.from(whole);
        flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
        writeFileSync(join(dir, "x.db"), flipped);
        try {
          const opened = open();
          expect(opened.prepare("SELECT name FROM thing").get()).to.deep.include({ name: "kept" });
          closeDatabase(opened);
        } catch (error) {
          const isExpected = error instanceof StartError || isDamage(error);
          expect(isExpected, `byte ${at}, bit ${bit}: ${error}`).to.equal(true);
          refused += 1;
        }
      }
    }
    expect(refused).to.be.above(500);
  });

  it("stores nothing of a transaction that fails", () => {
    const db = open();
    expect(() =>
      inTransaction(db, () => {
        db.exec("INSERT INTO thing (name) VALUES ('lost')");
        throw new Error("half way");
      }),
    ).to.throw("half way");
    expect(db.prepare("SELECT count(*) AS things FROM thing").get()).to.include({ things: 0 });
    inTransaction(db, () => db.exec("INSERT INTO thing (name) VALUES ('kept')"));
    expect(db.prepare("SELECT count(*) AS things FROM thing").get()).to.include({ things: 1 });
    closeDatabase(db);
  });

  it("locks a folder for one service at a time, and its series for another", () => {
    const release = lockFolder(dir, "entities");
    const releaseSeries = lockFolder(dir, "metrics");
    for (const name of ["entities", "metrics"] as const)
      expect(() => lockFolder(dir, name)).to.throw(/Another entity-metrics service is running on/);
    release();
    lockFolder(dir, "entities")();
    releaseSeries();
  });

  it("creates a missing folder that only its owner can read", () => {
    lockFolder(join(dir, "a", "b"), "entities")();
    expect(statSync(join(dir, "a", "b")).mode & 0o077).to.equal(0);
  });
});
