import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../../../src/errors.js";
import {
  closeDatabase,
  DatabaseSync,
  inTransaction,
  type Migration,
  openDatabase,
} from "../../../src/stores/sqlite/connection.js";
import { lockFolder } from "../../../src/stores/sqlite/folder.js";
import { dataFolder } from "../../support/data-folder.js";

describe("the embedded engine", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const open = (schema: readonly string[], migrations: readonly Migration[] = []) =>
    openDatabase(dir, { name: "x.db", schema, migrations });
  const first = ["CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, name TEXT)"];
  const second = [
    "CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, name TEXT, size INTEGER NOT NULL DEFAULT 0)",
  ];
  const toSecond: Migration = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 0";

  it("brings a file of layout 1 up to a layout 2, once, and keeps its rows", () => {
    const old = open(first);
    old.exec("INSERT INTO thing (name) VALUES ('kept')");
    closeDatabase(old);
    for (let time = 0; time < 2; time += 1) {
      const db = open(second, [toSecond]);
      expect({ ...(db.prepare("SELECT name, size FROM thing").get() as object) }).to.deep.equal({
        name: "kept",
        size: 0,
      });
      closeDatabase(db);
    }
  });

  it("gives back what the write-ahead log took while another process read the file", () => {
    const db = open(first);
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

  it("closes a file whose log cannot be emptied, as the disk is full, and loses nothing of it", () => {
    const db = open(first);
    db.exec("INSERT INTO thing (name) VALUES ('kept')");
    const exec = () => {
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    };
    closeDatabase({ exec, close: () => db.close() });
    expect(db.isOpen).to.equal(false);
    const next = open(first);
    expect({ ...(next.prepare("SELECT name FROM thing").get() as object) }).to.deep.equal({ name: "kept" });
    closeDatabase(next);
  });

  it("gives a new file the newest layout at once, without a migration", () => {
    const db = open(second, [toSecond]);
    expect(db.prepare("PRAGMA user_version").get()).to.include({ user_version: 2 });
    closeDatabase(db);
  });

  it("runs every migration from the layout of the file on, in order", () => {
    closeDatabase(open(first));
    const ran: number[] = [];
    const noting = [2, 3, 4].map((version) => () => void ran.push(version));
    closeDatabase(open([], noting.slice(0, 1)));
    closeDatabase(open([], noting));
    expect(ran).to.deep.equal([2, 3, 4]);
  });

  it("leaves an older file as it was when a migration fails", () => {
    closeDatabase(open(first));
    const failing: Migration = () => {
      throw new Error("no");
    };
    expect(() => open(second, [toSecond, failing])).to.throw(/x\.db cannot be opened: no/);
    const db = open(first);
    expect(db.prepare("SELECT count(*) AS columns FROM pragma_table_info('thing')").get()).to.include({ columns: 2 });
    closeDatabase(db);
  });

  for (const layout of [7, 2, -1]) {
    it(`refuses a file of the unknown layout ${layout} in one line, and leaves it unchanged`, () => {
      const old = new DatabaseSync(join(dir, "x.db"));
      old.exec(`CREATE TABLE other (id INTEGER); PRAGMA user_version = ${layout}`);
      old.close();
      expect(() => open(first)).to.throw(
        StartError,
        new RegExp(
          `^\\S+x\\.db has layout ${layout}, which this version .* does not read \\(its newest is 1\\): [^\n]+$`,
        ),
      );
      const kept = new DatabaseSync(join(dir, "x.db"));
      const names = kept.prepare("SELECT group_concat(name) AS names FROM sqlite_schema").get();
      expect(names).to.include({ names: "other" });
      expect(kept.prepare("PRAGMA user_version").get()).to.include({ user_version: layout });
      kept.close();
    });
  }

  it("keeps nothing of a transaction that fails", () => {
    const db = open(first);
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

  it("gives a folder to one service at a time, and its series to one", () => {
    const release = lockFolder(dir, "entities");
    const releaseSeries = lockFolder(dir, "metrics");
    for (const name of ["entities", "metrics"] as const)
      expect(() => lockFolder(dir, name)).to.throw(/Another entity-metrics service is running on/);
    release();
    lockFolder(dir, "entities")();
    releaseSeries();
  });

  it("makes a folder that is missing, for its owner alone", () => {
    lockFolder(join(dir, "a", "b"), "entities")();
    expect(statSync(join(dir, "a", "b")).mode & 0o077).to.equal(0);
  });
});
