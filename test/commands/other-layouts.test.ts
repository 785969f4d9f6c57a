import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { DatabaseSync, layoutOf } from "../../src/stores/sqlite/connection.js";
import { earlierData } from "../support/earlier-version.js";
import { runToEnd } from "../support/run-command.js";

const FILES = ["ledger.db", "entities.db", "metrics.db"];

describe("a command next to files of a newer layout", () => {
  let dir: string;
  before(async () => {
    ({ dir } = await earlierData("folder", ""));
    for (const file of FILES) {
      const db = new DatabaseSync(join(dir, file));
      db.exec("PRAGMA user_version = 9");
      db.close();
    }
  });

  for (const [name, args, file] of [
    ["key", ["list"], "ledger.db"],
    ["migrate", ["--from", "DIR", "--to", "mongodb://127.0.0.1:1/never"], "ledger.db"],
  ] as const) {
    it(`(${name}) ends with 1 and one line, and changes no file`, async () => {
      const before = FILES.map((one) => readFileSync(join(dir, one)));
      const own = args.map((arg) => (arg === "DIR" ? dir : arg));
      const { code, out, err } = await runToEnd(name, own, { DATA_DIR: dir });
      expect({ code, out }).to.deep.equal({ code: 1, out: "" });
      expect(err).to.match(
        new RegExp(`^\\S+${file} has layout 9, and this version .*reads layouts up to 4: start .*\n$`),
      );
      expect(FILES.every((one, index) => readFileSync(join(dir, one)).equals(before[index] as Buffer))).to.equal(true);
    });
  }

  it("(backup) copies them with their layout", async () => {
    const copies = join(`${dir}-copies`);
    mkdirSync(copies);
    const { code, err } = await runToEnd("backup", [copies], { DATA_DIR: dir });
    expect(code, err).to.equal(0);
    for (const file of FILES) {
      const copy = new DatabaseSync(join(copies, file), { readOnly: true });
      expect(layoutOf(copy), file).to.equal(9);
      copy.close();
    }
  });
});
