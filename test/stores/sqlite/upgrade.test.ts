import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../../../src/errors.js";
import { closeDatabase, type Database, layoutOf } from "../../../src/stores/sqlite/connection.js";
import { type FileLayout, openDatabase } from "../../../src/stores/sqlite/open-database.js";
import { startChild } from "../../support/child-service.js";
import { dataFolder } from "../../support/data-folder.js";
import { newFile, oldFile } from "../../support/made-up-layouts.js";

describe("an upgrade of a file", () => {
  let dir: string;
  let db: Database | undefined;
  beforeEach(() => {
    dir = dataFolder();
    const old = openDatabase(dir, oldFile);
    old.exec("INSERT INTO owner VALUES (1, 'one'), (2, NULL); INSERT INTO thing VALUES (1, 1), (2, 2)");
    closeDatabase(old);
  });
  afterEach(() => {
    if (db?.isOpen) closeDatabase(db);
  });

  const open = (layout: FileLayout = newFile, options: Parameters<typeof openDatabase>[2] = {}) => {
    db = openDatabase(dir, layout, options);
    return db;
  };
  const content = (of: Database) => ({
    layout: layoutOf(of),
    things: of.prepare("SELECT json_group_array(json_array(id, owner, upgrades)) AS all_ FROM thing").get()?.all_,
    owners: of.prepare("SELECT json_group_array(name) AS all_ FROM owner").get()?.all_,
    extra: of.prepare("SELECT count(*) AS rows FROM extra").get()?.rows,
  });
  const upgraded = { layout: 5, things: "[[1,1,2],[2,2,2]]", owners: '["one",""]', extra: 0 };

  it("runs each step once and keeps rows that refer to a replaced table, also if it is opened again", () => {
    expect(content(open())).to.deep.equal(upgraded);
    closeDatabase(open());
    const again = open();
    expect(content(again)).to.deep.equal(upgraded);
    again.exec("DELETE FROM owner WHERE id = 1");
    expect(content(again).things, "with foreign keys again").to.equal("[[2,2,2]]");
  });

  it("begins at the layout of the file", () => {
    const [first = () => {}] = newFile.steps ?? [];
    closeDatabase(open({ ...oldFile, steps: [first] }));
    expect(content(open())).to.deep.equal(upgraded);
  });

  for (const [failpoint, after, left] of [
    ["layout-step-done", 1, 3],
    ["layout-step-stored", 1, 4],
  ] as const) {
    it(`that was killed at ${failpoint} (${after}) continues from layout ${left}`, async () => {
      const environment = { FAILPOINT: failpoint, FAILPOINT_AFTER: String(after) };
      const child = startChild(environment, ["--import", "tsx", "test/support/upgrade-in-child.ts", dir]);
      expect(await child.ended, child.err()).to.equal("SIGKILL");
      const steps = newFile.steps?.slice(0, left - 3) ?? [];
      closeDatabase(open({ name: "x.db", schema: [], steps }));
      expect(content(open())).to.deep.equal(upgraded);
    });
  }

  it("stores nothing of a step that fails, and can be repeated", () => {
    const failing = {
      ...newFile,
      steps: [
        ...(newFile.steps?.slice(0, 1) ?? []),
        (one: Database) => {
          one.exec("DELETE FROM thing");
          throw new Error("half way");
        },
      ],
    };
    expect(() => open(failing)).to.throw(StartError, /x\.db cannot be opened: half way$/);
    expect(content(open())).to.deep.equal(upgraded);
  });

  it("does not happen where a service may be using the file: an older layout is refused, the file unchanged", () => {
    const before = readFileSync(join(dir, "x.db"));
    expect(() => open(newFile, { isShared: true })).to.throw(
      StartError,
      /x\.db has layout 3, and this command uses layout 5: start the service of this version, which upgrades it, or use the command of the version that runs$/,
    );
    expect(readFileSync(join(dir, "x.db")).equals(before)).to.equal(true);
    expect(layoutOf(open(oldFile, { isShared: true }))).to.equal(3);
  });

  it("is not what a new file without tables needs: a command refuses it, because its service was never started", () => {
    writeFileSync(join(dir, "new.db"), "");
    expect(() => open({ ...newFile, name: "new.db" }, { isShared: true })).to.throw(
      StartError,
      /new\.db is empty: start the service once$/,
    );
    expect(readFileSync(join(dir, "new.db"))).to.have.length(0);
  });

  it("is refused by the older version afterwards, also in a command", () => {
    closeDatabase(open());
    for (const isShared of [false, true])
      expect(() => open(oldFile, { isShared })).to.throw(
        StartError,
        /x\.db has layout 5, .*reads layouts up to 3: start the/,
      );
  });
});
