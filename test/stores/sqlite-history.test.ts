import { historyContract } from "../contracts/history.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

historyContract("sqlite", async () => {
  const stores = await temporaryStores({ inMemory: true });
  return { stores, close: () => stores.close() };
});
