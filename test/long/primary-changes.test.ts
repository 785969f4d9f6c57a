import { primaryChanges } from "../servers/primary-changes/primary-changes.js";
import { onServers } from "../support/servers.js";

onServers(
  ["mongodb", "mongod", "influxdb", "bullmq"],
  "P27, in a long test: two processes on a replica set whose primary changes under load",
  function () {
    this.timeout(3_600_000);
    primaryChanges(5);
  },
);
