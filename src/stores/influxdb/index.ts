import { StartError } from "../../errors.js";
import type { MetricEngine, OpenParts } from "../stores.js";

/** Opens the series in InfluxDB. */
export async function openInflux(_: OpenParts): Promise<MetricEngine> {
  throw new StartError("METRICS_URL asks for InfluxDB, which this version does not serve");
}
