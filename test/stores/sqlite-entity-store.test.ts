import { entityStoreContract } from "../contracts/entity-store.contract.js";
import { temporaryStores } from "../support/stores.js";

entityStoreContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return { store: stores.entities, close };
});
