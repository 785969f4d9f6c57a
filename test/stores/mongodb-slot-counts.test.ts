import { slotCountsContract } from "../contracts/slot-counts.contract.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import { openTestEngine, type TestEngine } from "../support/mongo-engine.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  slotCountsContract("mongodb", async () => ({
    counts: engine.stores.counts,
    close: () => engine.empty(),
    async count(stream, slot) {
      const entity = freshEntity();
      await keep(engine.stores.entities, entity, { messages: [messageFor(entity.id, { stream, time: slot + 1 })] });
    },
  }));
});
