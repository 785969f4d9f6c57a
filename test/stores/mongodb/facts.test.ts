import { factCollection, factsOf } from "../../../src/stores/mongodb/database-facts.js";
import { factsContract } from "../../contracts/facts.contract.js";
import { onServers } from "../../support/servers.js";
import { openTestDatabase } from "./database.js";

onServers(["mongodb"], "mongodb", () => {
  factsContract("mongodb", async () => {
    const { db, close } = await openTestDatabase([factCollection]);
    return { facts: factsOf(db), close };
  });
});
