import { alertState } from "../../../src/stores/database-facts.js";
import { factsOf, marks } from "../../../src/stores/mongodb/database-facts.js";
import { alertStateContract } from "../../contracts/alert-state.contract.js";
import { onServers } from "../../support/servers.js";
import { openTestDatabase } from "./database.js";

onServers(["mongodb"], "mongodb", () => {
  alertStateContract("mongodb", async () => {
    const { db, close } = await openTestDatabase([marks]);
    return { alerts: alertState(factsOf(db)), close };
  });
});
