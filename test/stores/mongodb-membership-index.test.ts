import { membershipIndexContract } from "../contracts/membership-index.contract.js";
import { openTestEngine } from "../support/mongo-engine.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  membershipIndexContract("mongodb", openTestEngine);
});
