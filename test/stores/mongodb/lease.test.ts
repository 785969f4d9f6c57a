import { leaseCollections, mongoLease } from "../../../src/stores/mongodb/lease.js";
import { leaseContract } from "../../contracts/lease.contract.js";
import { onServers } from "../../support/servers.js";
import { openTestDatabase } from "./database.js";

onServers(["mongodb"], "mongodb", () => {
  leaseContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(leaseCollections);
    return { lease: mongoLease(db), close };
  });
});
