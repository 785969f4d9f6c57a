import { slotClaimsCollections } from "../../src/stores/mongodb/slot-claim-documents.js";
import { mongoSlotClaims } from "../../src/stores/mongodb/slot-claims.js";
import { slotClaimsContract } from "../contracts/slot-claims.contract.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  slotClaimsContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(slotClaimsCollections);
    return { claims: mongoSlotClaims(db), close };
  });
});
