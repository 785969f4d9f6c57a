import { seriesStoreContract } from "../../contracts/series-store.contract.js";
import { onServers } from "../../support/servers.js";
import { influxSeries } from "./bucket.js";

onServers(["influxdb"], "series in InfluxDB", () => {
  seriesStoreContract("InfluxDB", () => influxSeries(), { forgets: false });
});
