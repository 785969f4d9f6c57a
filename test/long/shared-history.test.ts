import { checkSharedHistory } from "../servers/shared-history/check.js";
import { onServers } from "../support/servers.js";

const HISTORIES = 20;
const STEPS = 5_000;

onServers(["mongodb", "influxdb", "bullmq"], "two processes that share everything, for long", () => {
  it("answer as one process would while one of them is killed, and leave nothing of erased profiles, over 20 histories of 5,000 steps", async () => {
    for (let seed = 1; seed <= HISTORIES; seed += 1) await checkSharedHistory(seed, STEPS);
  });
});
