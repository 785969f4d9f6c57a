import { idempotencyCollections, mongoIdempotency } from "../../../../src/stores/mongodb/profiles/idempotency.js";
import { idempotencyContract } from "../../../contracts/idempotency.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestDatabase } from "../database.js";

onServers(["mongodb"], "mongodb: repeatable requests", () => {
  idempotencyContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(idempotencyCollections);
    return { store: mongoIdempotency(db), close };
  });
});
