import { primaryChanges } from "../servers/primary-changes/primary-changes.js";
import { onServers } from "../support/servers.js";

onServers(
  ["mongodb", "mongod", "influxdb", "bullmq"],
  "P27, for long: two processes that answer, over a replica set whose primary changes under load,",
  function () {
    this.timeout(3_600_000);
    primaryChanges(5);
  },
);
