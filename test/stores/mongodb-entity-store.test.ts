import { entityCollections, mongoEntityStore } from "../../src/stores/mongodb/entity-store.js";
import { entityStoreContract } from "../contracts/entity-store.contract.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  entityStoreContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(entityCollections);
    return { store: mongoEntityStore(db), close };
  });
});
