import { entityStoreContract } from "../contracts/entity-store.contract.js";
import { openTestEngine } from "../support/mongo-engine.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  entityStoreContract("mongodb", openTestEngine);
});
