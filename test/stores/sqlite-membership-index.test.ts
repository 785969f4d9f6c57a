import { membershipIndexContract } from "../contracts/membership-index.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

membershipIndexContract("sqlite", async () => {
  const stores = await temporaryStores({ inMemory: true });
  return { index: stores.memberships, kill: (ids) => stores.entities.erase(ids), close: () => stores.close() };
});
