import { randomInt } from "node:crypto";
import { expect } from "chai";
import { onServers } from "../support/servers.js";
import { checkSharedHistory } from "./shared-history/check.js";

const STEPS = Number(process.env.HISTORY_STEPS ?? 2_000);
/** Seed of the requests; the servers decide their order. */
const SEED = Number(process.env.HISTORY_SEED ?? randomInt(1_000_000));

onServers(["mongodb", "influxdb", "bullmq"], "two processes on the same stores", function () {
  this.timeout(600_000);

  it(`answer as one process, also if one is killed, and leave nothing of erased profiles (${STEPS} steps, HISTORY_SEED=${SEED})`, async () => {
    const { kills, deletions } = await checkSharedHistory(SEED, STEPS);
    expect(kills).to.be.at.least(Math.floor(STEPS / 250));
    expect(deletions).to.be.above(STEPS / 10);
  });
});
