import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Log, openLog } from "../../src/log.js";
import { openInflux } from "../../src/stores/influxdb/index.js";
import type { MetricEngine } from "../../src/stores/stores.js";
import { dropBucket } from "./drop-from-servers.js";
import { influxdbToken, influxdbUrl, ownName } from "./servers.js";
import { type Overrides, settingsFor } from "./service.js";

/** Series in a bucket of InfluxDB. */
export interface InfluxSeries extends MetricEngine {
  readonly bucket: string;
}

export interface InfluxOptions {
  /** The bucket; one of its own, without it. */
  readonly bucket?: string;
  /** Another server than the usual one, a proxy for one. */
  readonly server?: string;
  readonly settings?: Overrides;
  readonly log?: Log;
}

/** Opens series in a bucket, which `close` removes. */
export async function influxSeries(options: InfluxOptions = {}): Promise<InfluxSeries> {
  const { bucket = ownName(), server, log = openLog("silent") } = options;
  const metrics = { url: influxdbUrl(bucket, server), token: influxdbToken(), ...options.settings?.metrics };
  const settings = settingsFor(join(tmpdir(), "nothing-is-kept-here"), { ...options.settings, metrics });
  const engine = await openInflux({ settings, log });
  return {
    ...engine,
    bucket,
    async close() {
      await engine.close();
      await dropBucket(bucket);
    },
  };
}
