import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect } from "chai";
import fc from "fast-check";
import { amount, storesOnServers } from "../support/servers.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";
import { erasedStayErased } from "./random-histories.js";

const STEPS = amount(20_000, 400);

describe("P5, P35: an erased profile is not brought back", () => {
  let open: OpenStores;

  before(async () => {
    open = await openTemporaryStores();
  });
  after(() => open.close());

  it(`by late, replayed, future-dated or merged data, nor by a writer that was paused or died, in ${STEPS} steps`, async function () {
    this.timeout(600_000);
    const { property, steps } = erasedStayErased(open.stores);
    for (let seed = 1; steps() < STEPS; seed += 1) {
      await fc.assert(property, { numRuns: amount(50, 1), seed, endOnFailure: storesOnServers });
    }
    if (!storesOnServers) expect(strays(open.dir)).to.deep.equal([]);
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
