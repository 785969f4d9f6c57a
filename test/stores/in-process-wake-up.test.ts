import { wakeUpContract } from "../contracts/wake-up.contract.js";
import { temporaryStores } from "../support/stores.js";

wakeUpContract("one process", async () => {
  const { stores, close } = await temporaryStores();
  return {
    wakeUp: stores.wakeUp,
    async close() {
      await stores.wakeUp.close();
      await close();
    },
  };
});
