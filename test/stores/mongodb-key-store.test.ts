import { keyStoreCollections, mongoKeyStore } from "../../src/stores/mongodb/key-store.js";
import { keyStoreContract } from "../contracts/key-store.contract.js";
import { onServers } from "../support/servers.js";
import { openTestDatabase } from "./mongo-database.js";

onServers(["mongodb"], "keys on MongoDB", () => {
  keyStoreContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(keyStoreCollections);
    return { store: mongoKeyStore(db), close };
  });
});
