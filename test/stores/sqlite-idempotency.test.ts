import { idempotencyContract } from "../contracts/idempotency.contract.js";
import { temporaryStores } from "../support/stores.js";

idempotencyContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return { store: stores.idempotency, close };
});
