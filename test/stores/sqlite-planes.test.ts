import { rmSync } from "node:fs";
import { expect } from "chai";
import { StartError } from "../../src/errors.js";
import { openDatabase, openFile } from "../../src/stores/sqlite/database.js";
import { oldFolder } from "../support/old-folder.js";
import { storesOf } from "../support/stores.js";

/** What schema 1 of `metrics.db` had. */
const seriesSchema = [
  `CREATE TABLE series (
    id INTEGER PRIMARY KEY, dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL,
    slot_ms INTEGER NOT NULL, UNIQUE (dimension, dimension_id, type)
  )`,
  "CREATE TABLE chunk (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, slots BLOB NOT NULL)",
];

describe("a folder of an earlier version, in which the recorder and clients wrote the same slots", () => {
  let dir: string;
  beforeEach(() => {
    dir = oldFolder().dir;
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const failure = () =>
    storesOf(dir, undefined, false).then(
      ({ close }) => close().then(() => "none"),
      (error: unknown) => (error instanceof StartError ? error.message : error),
    );
  const versionOf = (name: string) => {
    const db = openFile(dir, name);
    const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    db.close();
    return version;
  };

  it("is refused in one line and left as it was, when the recorder has saved something", async () => {
    const db = openFile(dir, "entities.db");
    db.exec("INSERT INTO slot_claim VALUES ('stream', 'web', 'size', 0, 7, 1)");
    db.close();
    expect(await failure()).to.match(/^entities\.db in .* was written by an earlier version of entity-metrics, .*$/);
    expect(versionOf("entities.db")).to.equal(1);
  });

  it("is refused in one line and left as it was, when it has series", async () => {
    const db = openDatabase(dir, "metrics.db", seriesSchema);
    db.exec("INSERT INTO series VALUES (1, 'stream', 'web', 'size', 3600000)");
    db.prepare("INSERT INTO chunk VALUES (?, 0, ?)").run(2 ** 20 + 2_800, new Uint8Array(8));
    db.close();
    expect(await failure()).to.match(/^metrics\.db in .* was written by an earlier version of entity-metrics, .*$/);
    expect(versionOf("metrics.db")).to.equal(1);
  });

  it("is brought up when it has neither", async () => {
    openDatabase(dir, "metrics.db", seriesSchema).close();
    expect(await failure()).to.equal("none");
    expect([versionOf("entities.db"), versionOf("metrics.db")]).to.deep.equal([3, 2]);
    const db = openFile(dir, "entities.db");
    expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name LIKE 'slot_claim%'").get()).to.equal(undefined);
    db.close();
  });
});
