import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect } from "chai";
import fc from "fast-check";
import { amount, storesOnServers } from "../support/servers.js";
import { openTemporaryStores } from "../support/stores.js";
import { erasedStayErased } from "./random-histories.js";

const STEPS = amount(20_000, 400);

describe("P5, P35: an erased profile is not brought back", () => {
  it(`by late, replayed, future-dated or merged data, nor by a writer that was paused or died, in ${STEPS} steps`, async function () {
    this.timeout(600_000);
    let taken = 0;
    for (let seed = 1; taken < STEPS; seed += 1) {
      // Stores of its own: requests become slower with the deletions of all histories before.
      const { stores, dir, close } = await openTemporaryStores();
      const { property, steps } = erasedStayErased(stores);
      await fc.assert(property, { numRuns: 7, seed, endOnFailure: storesOnServers });
      taken += steps();
      if (!storesOnServers) expect(strays(dir)).to.deep.equal([]);
      await close();
    }
  });
});

/** Live profiles that no request can read or erase: no identity leads to them, or they are erased. */
function strays(dir: string): unknown[] {
  const db = new DatabaseSync(join(dir, "entities.db"));
  db.exec(`ATTACH '${join(dir, "ledger.db")}' AS ledger`);
  const rows = db
    .prepare(
      `SELECT id FROM entity WHERE id NOT IN (SELECT entity FROM identity)
       OR id IN (SELECT entity FROM ledger.erased_entity)`,
    )
    .all();
  db.close();
  return rows;
}
