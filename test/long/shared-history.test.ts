import { checkSharedHistory } from "../servers/shared-history/check.js";
import { onServers } from "../support/servers.js";

const HISTORIES = 20;
const STEPS = 5_000;

onServers(["mongodb", "influxdb", "bullmq"], "two processes on the same stores", () => {
  it("answer as one process, also if one is killed, and leave nothing of erased profiles, in 20 × 5,000 steps", async () => {
    for (let seed = 1; seed <= HISTORIES; seed += 1) await checkSharedHistory(seed, STEPS);
  });
});
