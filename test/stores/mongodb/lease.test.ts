import { leaseCollections, mongoLease } from "../../../src/stores/mongodb/lease.js";
import { transactions } from "../../../src/stores/mongodb/transaction.js";
import { leaseContract } from "../../contracts/lease.contract.js";
import { onServers } from "../../support/servers.js";
import { openTestDatabase } from "./database.js";

onServers(["mongodb"], "mongodb", () => {
  leaseContract("mongodb", async () => {
    const { db, client, close } = await openTestDatabase(leaseCollections);
    return { lease: mongoLease(db, transactions(client, 10_000)), close };
  });
});
