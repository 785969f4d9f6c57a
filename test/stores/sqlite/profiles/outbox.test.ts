import { systemClock } from "../../../../src/clock.js";
import { openLog } from "../../../../src/log.js";
import { openSqliteEntities } from "../../../../src/stores/sqlite/index.js";
import { contractHooks, outboxContract } from "../../../contracts/outbox.contract.js";
import { dataFolder } from "../../../support/data-folder.js";
import { settingsFor } from "../../../support/service.js";

outboxContract("sqlite", async () => {
  const dir = dataFolder();
  const settings = settingsFor(dir, { hooks: contractHooks as never });
  const stores = await openSqliteEntities({ settings, log: openLog("silent"), clock: systemClock });
  return {
    stores,
    async close() {
      await stores.close();
    },
  };
});
