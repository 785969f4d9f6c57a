import { erasureWatermarkCollections, mongoErasureWatermark } from "../../src/stores/mongodb/erasure-watermark.js";
import { erasureWatermarkContract } from "../contracts/erasure-watermark.contract.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "the watermark on MongoDB", () => {
  erasureWatermarkContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(erasureWatermarkCollections);
    return { watermark: mongoErasureWatermark(db), close };
  });
});
