import { StartError } from "../../errors.js";
import type { Probe } from "../../meters.js";
import type { SeriesTarget } from "../copy.js";
import type { OpenParts } from "../stores.js";
import { influxAddress } from "./address.js";
import { influxClient } from "./client.js";
import { beginCopy, finishCopy } from "./copy-mark.js";
import { openInflux } from "./index.js";

/** How long a write or a read of many points may take, ms: nobody waits for an answer. */
const DEADLINE_MS = 120_000;

/** Opens the bucket, to fill it. */
export async function openInfluxImport(parts: OpenParts): Promise<SeriesTarget> {
  const { settings, clock } = parts;
  const patient = { ...settings, limits: { ...settings.limits, store_deadline_ms: DEADLINE_MS } };
  const engine = await openInflux({ ...parts, settings: patient });
  const { url, bucket, ...address } = influxAddress(settings);
  const client = influxClient({ url, bucket, ...address }, DEADLINE_MS);
  let source = "";
  return {
    series: engine.series,
    retentionMs: () => engine.retentionMs(),
    async begin(mark) {
      source = mark;
      for (const probe of engine.probes) await throwUnlessUp(probe, url);
      return beginCopy(client, bucket, mark, clock());
    },
    finish: () => finishCopy(client, source, clock()),
    async close() {
      client.close();
      await engine.close();
    },
  };
}

/** Words for the person who named the server, when it cannot be used. */
async function throwUnlessUp({ check }: Probe, url: string): Promise<void> {
  const note = await check().catch((error: unknown) => {
    throw new StartError(`METRICS_URL: InfluxDB at ${url} is not there`, { cause: error });
  });
  if (note !== undefined) throw new StartError(`METRICS_URL: InfluxDB at ${url}: ${note}`);
}
