import { membershipIndexContract } from "../../../contracts/membership-index.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  membershipIndexContract("mongodb", openTestEngine);
});
