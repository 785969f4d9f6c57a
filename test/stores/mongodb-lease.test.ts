import { leaseCollections, mongoLease } from "../../src/stores/mongodb/lease.js";
import { leaseContract } from "../contracts/lease.contract.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  leaseContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(leaseCollections);
    return { lease: mongoLease(db), close };
  });
});
