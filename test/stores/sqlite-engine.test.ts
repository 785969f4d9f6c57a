import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { closeDatabase, inTransaction, openDatabase } from "../../src/stores/sqlite/database.js";
import { lockFolder } from "../../src/stores/sqlite/folder-lock.js";
import type { Migration } from "../../src/stores/sqlite/schema.js";

describe("the embedded engine", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const first = ["CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, name TEXT)"];
  const second = [
    "CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, name TEXT, size INTEGER NOT NULL DEFAULT 0)",
  ];
  const toSecond: Migration = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 0";

  it("brings an older file up, once, and keeps what is in it", () => {
    const old = openDatabase(dir, "x.db", first);
    old.exec("INSERT INTO thing (name) VALUES ('kept')");
    closeDatabase(old);
    for (let time = 0; time < 2; time += 1) {
      const db = openDatabase(dir, "x.db", second, [toSecond]);
      expect({ ...(db.prepare("SELECT name, size FROM thing").get() as object) }).to.deep.equal({
        name: "kept",
        size: 0,
      });
      closeDatabase(db);
    }
  });

  it("makes a new file of the newest version at once, without its migrations", () => {
    const db = openDatabase(dir, "x.db", second, [toSecond]);
    expect(db.prepare("PRAGMA user_version").get()).to.include({ user_version: 2 });
    closeDatabase(db);
  });

  it("runs every migration from the file's version on, in order", () => {
    closeDatabase(openDatabase(dir, "x.db", first));
    const ran: number[] = [];
    const noting = [2, 3, 4].map((version) => () => void ran.push(version));
    closeDatabase(openDatabase(dir, "x.db", [], noting.slice(0, 1)));
    closeDatabase(openDatabase(dir, "x.db", [], noting));
    expect(ran).to.deep.equal([2, 3, 4]);
  });

  it("leaves an older file as it was when a migration fails", () => {
    closeDatabase(openDatabase(dir, "x.db", first));
    const failing: Migration = () => {
      throw new Error("no");
    };
    expect(() => openDatabase(dir, "x.db", second, [toSecond, failing])).to.throw(/x\.db cannot be opened: no/);
    const db = openDatabase(dir, "x.db", first);
    expect(db.prepare("SELECT count(*) AS columns FROM pragma_table_info('thing')").get()).to.include({ columns: 2 });
    closeDatabase(db);
  });

  it("refuses a file of a newer version in words", () => {
    closeDatabase(openDatabase(dir, "x.db", second, [toSecond]));
    expect(() => openDatabase(dir, "x.db", first)).to.throw(
      /x\.db was written by a newer version .*schema 2, this version knows up to 1/,
    );
  });

  it("keeps nothing of a transaction that fails", () => {
    const db = openDatabase(dir, "x.db", first);
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

  it("gives a folder to one at a time", () => {
    const release = lockFolder(dir);
    expect(() => lockFolder(dir)).to.throw(/Another entity-metrics service is running on/);
    release();
    lockFolder(dir)();
  });

  it("makes a folder that is missing, for its owner alone", () => {
    lockFolder(join(dir, "a", "b"))();
    expect(statSync(join(dir, "a", "b")).mode & 0o077).to.equal(0);
  });
});
