import { entityStoreContract } from "../../../contracts/entity-store.contract.js";
import { temporaryStores } from "../../../support/stores.js";

entityStoreContract("sqlite", async () => {
  const stores = await temporaryStores();
  return { stores, close: () => stores.close() };
});
