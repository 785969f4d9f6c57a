import { keyStoreCollections, mongoKeyStore } from "../../src/stores/mongodb/key-store.js";
import { keyStoreContract } from "../contracts/key-store.contract.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "keys on MongoDB", () => {
  keyStoreContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(keyStoreCollections);
    return { store: mongoKeyStore(db), close };
  });
});
