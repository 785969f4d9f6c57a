import { membershipIndexContract } from "../contracts/membership-index.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

membershipIndexContract("sqlite", async () => {
  const stores = await temporaryStores({ inMemory: true });
  return { stores, close: () => stores.close() };
});
