import { mongoLease, processCollections } from "../../src/stores/mongodb/between-processes.js";
import { leaseContract } from "../contracts/lease.contract.js";
import { onServers } from "../support/servers.js";
import { openTestDatabase } from "./mongo-database.js";

onServers(["mongodb"], "mongodb", () => {
  leaseContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(processCollections);
    return { lease: mongoLease(db), close };
  });
});
