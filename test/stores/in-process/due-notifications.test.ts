import { dueNotificationsContract } from "../../contracts/due-notifications.contract.js";
import { openTemporaryStores } from "../../support/stores.js";

dueNotificationsContract("one process", async () => {
  const { stores, close } = await openTemporaryStores();
  return {
    dueNotifications: stores.dueNotifications,
    async close() {
      await stores.dueNotifications.close();
      await close();
    },
  };
});
