import { entityKeysContract } from "../contracts/entity-keys.contract.js";
import { erasureWatermarkContract } from "../contracts/erasure-watermark.contract.js";
import { ledgerContract } from "../contracts/ledger.contract.js";
import { suppressionContract } from "../contracts/suppression.contract.js";
import { wakeUpContract } from "../contracts/wake-up.contract.js";
import { commitOf } from "../support/commits.js";
import { findBytes } from "../support/files.js";
import { temporaryStores } from "../support/stores.js";

const openLedger = async () => {
  const { stores, close } = await temporaryStores();
  return { ledger: stores.ledger, suppression: stores.suppression, entities: stores.entities, close };
};

ledgerContract("sqlite", openLedger);
suppressionContract("sqlite", openLedger);

entityKeysContract("sqlite", async () => {
  const { stores, dir, close } = await temporaryStores();
  return {
    keys: stores.entityKeys,
    async add(keys) {
      await stores.entities.commit(commitOf([], { keys }));
    },
    countHeld: (keys) => new Set(findBytes(dir, keys).map(({ needle }) => needle)).size,
    close,
  };
});

erasureWatermarkContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return { watermark: stores.watermark, close };
});

wakeUpContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return {
    wakeUp: stores.wakeUp,
    async close() {
      await stores.wakeUp.close();
      await close();
    },
  };
});
