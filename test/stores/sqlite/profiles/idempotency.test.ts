import { idempotencyContract } from "../../../contracts/idempotency.contract.js";
import { openTemporaryStores } from "../../../support/stores.js";

idempotencyContract("sqlite", async () => {
  const { stores, close } = await openTemporaryStores();
  return { store: stores.idempotency, close };
});
