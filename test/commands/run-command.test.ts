import { expect } from "chai";
import { inWords } from "../../src/commands/run-command.js";
import { StartError } from "../../src/errors.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";

describe("the error of a command", () => {
  it("is one line, without a stack, if SQLite reports it, such as a full disk", () => {
    const db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE t (a BLOB); PRAGMA max_page_count = 10");
    let error: unknown;
    try {
      db.exec("INSERT INTO t VALUES (zeroblob(1000000))");
    } catch (thrown) {
      error = inWords(thrown);
    }
    db.close();
    expect(error).to.be.instanceOf(StartError).and.include({ message: "database or disk is full" });
  });
});
