import { expect } from "chai";
import { historyContract } from "../contracts/history.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

historyContract("sqlite", () => temporaryStores({ inMemory: true }));

describe("sqlite: history beside the entities", () => {
  it("leaves out a message for an entity that is dead", async () => {
    const { history, entities, close } = await temporaryStores();
    const entity = "d".repeat(32);
    const stamp = { time: 1, arrival: 1, position: 0 };
    await entities.erase([entity]);
    await history.append([
      { id: "a".repeat(32), table: "user", stream: "web", entity, hashes: [], ...stamp, sealed: Uint8Array.of(1) },
    ]);
    expect(await history.holds([entity])).to.equal(false);
    await close();
  });
});
