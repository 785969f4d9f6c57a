import fc from "fast-check";
import { erasedStayErased } from "../deletions/random-histories.js";
import { dataFolder } from "../support/data-folder.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeUnlessKilled } from "../support/requests.js";
import { openTemporaryStores } from "../support/stores.js";
import { until } from "../support/until.js";

const DELETES = 10_000;
const KILLS = 1000;

describe("in a long test of deletions,", () => {
  it("no acknowledged DELETE is lost over 1,000 random kill -9, and each completes (P1)", async () => {
    const dir = dataFolder();
    const acknowledged: string[] = [];
    let service: RealService | undefined;
    for (let kill = 0; kill < KILLS; kill += 1) {
      service = await startReal(dir, { LOG_LEVEL: "error" });
      const dies = new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 300)).then(service.kill);
      const wanted = Math.ceil((DELETES * (kill + 1)) / KILLS);
      for (let index = acknowledged.length; index < wanted; index += 1) {
        const id = await remove(service, index);
        if (id === undefined) break;
        acknowledged.push(id);
      }
      await dies;
    }
    service = await startReal(dir, { LOG_LEVEL: "error" });
    while (acknowledged.length < DELETES) acknowledged.push((await remove(service, acknowledged.length)) as string);
    for (const id of acknowledged)
      await until("it is complete", () => isCompleteIn(service as RealService, id), 60_000);
  });

  it("no erased profile is brought back in 1,000,000 steps (P5)", async () => {
    let taken = 0;
    for (let seed = 1000; taken < 1_000_000; seed += 1) {
      const { stores, close } = await openTemporaryStores();
      const { property, steps } = erasedStayErased(stores);
      await fc.assert(property, { numRuns: 50, seed });
      taken += steps();
      await close();
    }
  });
});

/** Collects a profile and deletes it. */
async function remove(service: RealService, index: number): Promise<string | undefined> {
  const collected = collectThrough(service, [{ email: `p${index}@example.org`, user_id: `id-${index}` }]);
  await collected.catch((error: unknown) => {
    if (!(error instanceof TypeError)) throw error;
  });
  return removeUnlessKilled(service, `user_id/id-${index}`);
}
