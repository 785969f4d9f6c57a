import { entityStoreContract } from "../contracts/entity-store.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

entityStoreContract("sqlite", async () => {
  const stores = await temporaryStores({ inMemory: true });
  return { stores, close: () => stores.close() };
});
