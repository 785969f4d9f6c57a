import { historyContract } from "../contracts/history.contract.js";
import { openTestEngine, type TestEngine } from "../support/mongo-engine.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  historyContract("mongodb", async () => ({ stores: engine.stores, close: () => engine.empty() }));
});
