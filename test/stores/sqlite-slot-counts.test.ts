import { randomBytes } from "node:crypto";
import { slotCountsContract } from "../contracts/slot-counts.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

slotCountsContract("sqlite", async () => {
  const { counts, history, close } = await temporaryStores({ inMemory: true });
  return {
    counts,
    close,
    async count(stream, slot) {
      const id = randomBytes(16).toString("hex");
      const stamp = { time: slot + 1, arrival: 1, position: 0 };
      const sealed = Uint8Array.of(1);
      await history.append([{ id, table: "user", stream, entity: id, hashes: [], ...stamp, sealed }]);
      await history.settle([id]);
    },
  };
});
