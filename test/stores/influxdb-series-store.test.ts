import { seriesStoreContract } from "../contracts/series-store.contract.js";
import { influxSeries } from "../support/influx-bucket.js";
import { onServers } from "../support/servers.js";

onServers(["influxdb"], "series in InfluxDB", () => {
  seriesStoreContract("InfluxDB", () => influxSeries(), { forgets: false });
});
