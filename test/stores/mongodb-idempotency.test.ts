import { expect } from "chai";
import { idempotencyCollections, mongoIdempotency } from "../../src/stores/mongodb/idempotency.js";
import { idempotencyContract } from "../contracts/idempotency.contract.js";
import { onServers } from "../support/servers.js";
import { openTestDatabase, type TestDatabase } from "./mongo-database.js";

const DAY = 24 * 3_600_000;

onServers(["mongodb"], "mongodb: repeatable requests", () => {
  idempotencyContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(idempotencyCollections);
    return { store: mongoIdempotency(db), close };
  });

  describe("for several processes", () => {
    let database: TestDatabase;

    beforeEach(async () => {
      database = await openTestDatabase(idempotencyCollections);
    });
    afterEach(() => database.close());

    for (const [state, prepare] of [
      ["that was never seen", async () => {}],
      ["whose owner is gone", () => mongoIdempotency(database.db).begin("r", "gone", 1, 5)],
      ["that is a day old", () => mongoIdempotency(database.db).begin("r", "gone", 10 - DAY, 5)],
    ] as const) {
      it(`gives a request ${state} to one of them`, async () => {
        await prepare();
        const owners = ["a", "b", "c", "d"];
        const begun = await Promise.all(
          owners.map((owner) => mongoIdempotency(database.db).begin("r", owner, 10, 1000)),
        );
        expect(begun.filter((progress) => progress !== undefined)).to.have.length(1);
      });
    }
  });
});
