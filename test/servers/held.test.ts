import { readFileSync } from "node:fs";
import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import { openLog } from "../../src/log.js";
import { openStores } from "../../src/stores/open-stores.js";
import { holdersOf } from "../support/holders.js";
import { processSet } from "../support/process-set.js";
import { collectThrough, isCompleteIn, removeThrough, statusOf } from "../support/requests.js";
import { onServers, onServersOnly } from "../support/servers.js";
import { settingsFor } from "../support/service.js";
import { until } from "../support/until.js";

/** Where a worker is held while another does all of its work. */
const HELD_AT = ["deletion-begun", "profile-erased", "target-begun", "keys-untouched", "keys-overwritten"];

onServers(["mongodb", "influxdb", "bullmq"], "P8: a worker that is paused until its lease has ended", function () {
  this.timeout(300_000);

  it("changes nothing if it continues after another worker has completed the deletion", async () => {
    const set = await processSet();
    const [api, ...held] = await Promise.all([
      set.start("api"),
      ...HELD_AT.map((name) => set.start("worker", { FAILPOINT: name, FAILPOINT_SIGNAL: "SIGSTOP" })),
    ]);
    const ids: string[] = [];
    for (const index of HELD_AT.keys()) {
      await collectThrough(api, [personOf(index)]);
      ids.push(await removeThrough(api, `email/p${index}@example.org`));
      const holding = () => held.filter(({ pid }) => isHeld(pid)).length;
      await until("one more is held", () => holding() > index, 20_000);
    }
    // No other worker has leased them: each lease is still valid.
    for (const id of ids) expect(await isCompleteIn(api, id)).to.equal(false);
    // Newer profiles of the same people, which no request erases.
    await collectThrough(
      api,
      HELD_AT.map((_, index) => personOf(index)),
    );
    const other = await set.start("worker");
    for (const id of ids) await until("it is complete", () => isCompleteIn(api, id), 60_000);
    const before = await whatIsLeft(set.name, ids);
    expect(before).to.deep.equal(ids.map(() => "nothing"));

    await other.kill();
    for (const worker of held) process.kill(worker.pid, "SIGCONT");
    // A graceful stop waits for the run in progress.
    for (const worker of held) {
      await until("it works again", async () => (await statusOf(worker, "/ready")) === 200);
      await worker.stop();
    }
    for (const id of ids) expect(await isCompleteIn(api, id)).to.equal(true);
    expect(await whatIsLeft(set.name, ids)).to.deep.equal(before);
    for (const index of HELD_AT.keys()) {
      expect(await statusOf(api, `/api/entity/user/email/p${index}@example.org`), `${HELD_AT[index]}`).to.equal(200);
    }
  });
});

function personOf(index: number): object {
  return { email: `p${index}@example.org`, user_id: `id-${index}`, plan: "gold", segments: ["buyers"] };
}

/** Whether the machine has stopped this process. */
function isHeld(pid: number): boolean {
  return / T /.test(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/, ""));
}

/** Returns the ports that still contain data of each of these deletions. */
async function whatIsLeft(name: string, requestIds: readonly string[]): Promise<string[]> {
  const stores = await openStores({
    settings: settingsFor("unused", onServersOnly(name)),
    log: openLog("silent"),
    clock: systemClock,
  });
  const deletions = await Promise.all(requestIds.map((requestId) => stores.ledger.find(requestId)));
  const left = await Promise.all(deletions.map((deletion) => holdersOf(stores, deletion?.entities ?? [])));
  await stores.close();
  return left.map((holders) => holders.join(", ") || "nothing");
}
