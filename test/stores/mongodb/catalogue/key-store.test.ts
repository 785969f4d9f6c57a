import { keyStoreCollections, mongoKeyStore } from "../../../../src/stores/mongodb/catalogue/key-store.js";
import { keyStoreContract } from "../../../contracts/key-store.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestDatabase } from "../database.js";

onServers(["mongodb"], "keys on MongoDB", () => {
  keyStoreContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(keyStoreCollections);
    return { store: mongoKeyStore(db), close };
  });
});
