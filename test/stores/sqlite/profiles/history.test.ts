import { historyContract } from "../../../contracts/history.contract.js";
import { temporaryStores } from "../../../support/stores.js";

historyContract("sqlite", async () => {
  const stores = await temporaryStores();
  return { stores, close: () => stores.close() };
});
