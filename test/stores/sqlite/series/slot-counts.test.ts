import { slotCountsContract } from "../../../contracts/slot-counts.contract.js";
import { temporaryStores } from "../../../support/stores.js";

slotCountsContract("sqlite", async () => {
  const stores = await temporaryStores();
  return { stores, close: () => stores.close() };
});
