import { contractHooks, outboxContract } from "../../../contracts/outbox.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  outboxContract("mongodb", async () => {
    const engine = await openTestEngine();
    return { stores: await engine.another({ hooks: contractHooks as never }), close: engine.close };
  });
});
