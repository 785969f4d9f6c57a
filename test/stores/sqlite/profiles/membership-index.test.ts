import { expect } from "chai";
import { DatabaseSync } from "../../../../src/stores/sqlite/connection.js";
import { factSchema } from "../../../../src/stores/sqlite/database-facts.js";
import { deletedSegmentsSchema } from "../../../../src/stores/sqlite/profiles/deleted-segments.js";
import { membershipSchema, sqliteMembershipIndex } from "../../../../src/stores/sqlite/profiles/membership-index.js";
import { slotCountSchema } from "../../../../src/stores/sqlite/series/slot-counts.js";
import { membershipIndexContract } from "../../../contracts/membership-index.contract.js";
import { temporaryStores } from "../../../support/stores.js";

membershipIndexContract("sqlite", async () => {
  const stores = await temporaryStores();
  return { stores, close: () => stores.close() };
});

describe("the membership index of sqlite", () => {
  /** Updates about these segments, of entities from one number to another, with a time. */
  function filled(...ranges: readonly (readonly [string, number, number, 0 | 1, number])[]) {
    const db = new DatabaseSync(":memory:");
    db.exec(
      `PRAGMA foreign_keys = OFF; ${factSchema}; ${membershipSchema} ${deletedSegmentsSchema} ${slotCountSchema}`,
    );
    const fill = db.prepare(`INSERT INTO membership
      WITH RECURSIVE n (i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
      SELECT printf('%08d', i), ?1, ?4, ?5, ?5, 1, 0 FROM n`);
    for (const range of ranges) fill.run(...range);
    return db;
  }

  it("counts the members of large segments, and the members that two of them share, in several steps", async () => {
    const db = filled(
      ["large", 1, 100_000, 1, 1],
      ["large", 100_001, 100_010, 0, 1],
      ["middle", 99_001, 120_001, 1, 1],
      ["few", 99_990, 100_005, 1, 1],
    );
    const { sizes, overlap } = sqliteMembershipIndex(db, Date.now);
    expect(await sizes(["few", "large", "none", "middle", "large"])).to.deep.equal([16, 100_000, 0, 21_001, 100_000]);
    expect(await overlap("large", "middle")).to.equal(1_000);
    expect(await overlap("middle", "large")).to.equal(1_000);
    expect(await overlap("middle", "few")).to.equal(16);
    expect(await overlap("few", "none")).to.equal(0);
    expect(await overlap("large", "large")).to.equal(100_000);
    db.close();
  });

  it("counts a member who is still stored as one who left at the time of the service's clock", async () => {
    const db = filled(["few", 1, 1, 1, 1]);
    await sqliteMembershipIndex(db, () => Date.UTC(2031, 0, 2, 3)).erase(["00000001"]);
    const { stream, slot } = db.prepare("SELECT stream, slot FROM stream_count").get() as {
      stream: string;
      slot: number;
    };
    expect(stream).to.equal("/left/few");
    expect(Date.UTC(2031, 0, 2, 3) - slot).to.be.within(-86_400_000, 86_400_000);
    db.close();
  });
});
