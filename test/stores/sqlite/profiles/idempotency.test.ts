import { expect } from "chai";
import { REMEMBERED_MS } from "../../../../src/entities/ports.js";
import { idempotencyContract } from "../../../contracts/idempotency.contract.js";
import { openTemporaryStores } from "../../../support/stores.js";

idempotencyContract("sqlite", async () => {
  const { stores, close } = await openTemporaryStores();
  return { store: stores.idempotency, close };
});

describe("the store of repeatable requests of sqlite", () => {
  it("removes old requests in parts, so that other requests run in between", async () => {
    const { stores } = await openTemporaryStores();
    const { idempotency } = stores;
    for (let id = 0; id < 1_500; id += 1)
      await idempotency.begin({ id: String(id), arrival: 1, digest: "", tally: "" });
    const forget = () => idempotency.forget(1 + REMEMBERED_MS);
    expect([await forget(), await forget(), await forget()]).to.deep.equal([true, false, false]);
  });
});
