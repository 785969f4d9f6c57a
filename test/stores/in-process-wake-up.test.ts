import { wakeUpContract } from "../contracts/wake-up.contract.js";
import { openTemporaryStores } from "../support/stores.js";

wakeUpContract("one process", async () => {
  const { stores, close } = await openTemporaryStores();
  return {
    wakeUp: stores.wakeUp,
    async close() {
      await stores.wakeUp.close();
      await close();
    },
  };
});
