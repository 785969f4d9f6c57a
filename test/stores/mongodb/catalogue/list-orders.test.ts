import { listOrders } from "../../../../src/catalogue/list-orders.js";
import { listOrdersContract } from "../../../contracts/list-orders.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine, type TestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  listOrdersContract(
    "mongodb",
    async () => ({ orders: listOrders(engine.stores.sharedOrders), close: () => engine.empty() }),
    async () => listOrders((await engine.another()).sharedOrders),
  );
});
