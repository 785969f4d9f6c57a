import { slotCountsContract } from "../contracts/slot-counts.contract.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

slotCountsContract("sqlite", async () => {
  const { counts, entities, history, close } = await temporaryStores();
  return {
    counts,
    close,
    expire: (before) => history.expire(before),
    async count(stream, slot, arrival = 10.5) {
      const entity = freshEntity();
      await keep(entities, entity, { messages: [messageFor(entity.id, { stream, time: slot + 1, arrival })] });
    },
  };
});
