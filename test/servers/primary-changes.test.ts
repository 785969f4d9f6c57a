import { onServers } from "../support/servers.js";
import { primaryChanges } from "./primary-changes/primary-changes.js";

onServers(
  ["mongodb", "mongod", "influxdb", "bullmq"],
  "P27: two processes on a replica set whose primary changes under load",
  function () {
    this.timeout(600_000);
    primaryChanges(1);
  },
);
