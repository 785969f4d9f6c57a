import { historyContract } from "../../../contracts/history.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine, type TestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  historyContract("mongodb", async () => ({ stores: engine.stores, close: () => engine.empty() }));
});
