import { flux, fluxString } from "@influxdata/influxdb-client";
import { StartError } from "../../errors.js";
import type { Probe } from "../../meters.js";
import { dimensions } from "../../metrics/dimensions.js";
import type { SeriesTarget } from "../copy.js";
import type { EngineDependencies } from "../stores.js";
import { type InfluxClient, influxAddress, influxClient } from "./connection.js";
import { openInflux } from "./index.js";
import { readRows } from "./response-csv.js";

/** Time limit of a write, a read or a deletion of many points, ms: no request waits for it. */
const DEADLINE_MS = 120_000;

/** Opens the bucket for a copy. */
export async function openInfluxImport(dependencies: EngineDependencies): Promise<SeriesTarget> {
  const { settings, clock } = dependencies;
  const withLongDeadline = { ...settings, limits: { ...settings.limits, store_deadline_ms: DEADLINE_MS } };
  const engine = await openInflux({ ...dependencies, settings: withLongDeadline });
  const { url, bucket, ...address } = influxAddress(settings);
  const client = influxClient({ url, bucket, ...address }, DEADLINE_MS);
  let source = "";
  return {
    series: engine.series,
    eachAdded: engine.series.eachAdded,
    retentionMs: () => engine.retentionMs?.(),
    async begin(mark) {
      source = mark;
      for (const probe of engine.probes) await requireUsable(probe, url);
      return beginCopy(client, bucket, mark, clock());
    },
    finish: () => note(client, source, "finished", clock()),
    async close() {
      client.close();
      await engine.close();
    },
  };
}

/** Throws a `StartError` if the server cannot be used. */
async function requireUsable({ check }: Probe, url: string): Promise<void> {
  const reason = await check().catch((error: unknown) => {
    throw new StartError(`METRICS_URL: InfluxDB at ${url} is unreachable`, { cause: error });
  });
  if (reason !== undefined) throw new StartError(`METRICS_URL: InfluxDB at ${url}: ${reason}`);
}

/** Points of this measurement name the source of the copy into this bucket and its state. Only this file reads them. */
const MEASUREMENT = "entity_metrics_copy";

const REQUEST_MS = 60_000;

/** In: the bucket. Out: the names of all measurements, a row each in `_value`. */
function measurementsScript(bucket: string): string {
  return flux`import "influxdata/influxdb/schema"

schema.measurements(bucket: ${fluxString(bucket)}, start: 1970-01-01T00:00:00Z)`.toString();
}

/**
 * In: the bucket. Out: the marks of copies into it, oldest first: rows of `source` and `_value`, which is `copying` or
 * `finished`.
 */
function marksScript(bucket: string): string {
  return flux`from(bucket: ${fluxString(bucket)})
  |> range(start: 1970-01-01T00:00:00Z)
  |> filter(fn: (r) => r._measurement == ${fluxString(MEASUREMENT)} and r._field == "state")
  |> keep(columns: ["_time", "source", "_value"])
  |> group()
  |> sort(columns: ["_time"])`.toString();
}

/** Implements `SeriesTarget.begin`. Deletes only series, so that the mark stays until they are deleted. */
export async function beginCopy(client: InfluxClient, bucket: string, source: string, now: number): Promise<void> {
  const [begunFrom, state] = (await rowsOf(client, marksScript(bucket), ["source", "_value"])).at(-1) ?? [];
  if (state === "finished") {
    throw new StartError(`The bucket ${bucket} was filled by npm run migrate before, and is in use: name another one`);
  }
  if (begunFrom !== undefined && begunFrom !== source) {
    throw new StartError(`The bucket ${bucket} is being filled from another folder: name another one`);
  }
  if (begunFrom !== undefined) {
    for (const { name } of dimensions) await client.deleteMeasurement(name, AbortSignal.timeout(DEADLINE_MS));
    return;
  }
  if ((await rowsOf(client, measurementsScript(bucket), ["_value"])).length > 0) {
    throw new StartError(`The bucket ${bucket} contains points already: name an empty one`);
  }
  await note(client, source, "copying", now);
}

function note(client: InfluxClient, source: string, state: string, now: number): Promise<void> {
  return client.write(`${MEASUREMENT},source=${source} state="${state}" ${now}000000`, AbortSignal.timeout(REQUEST_MS));
}

/** Returns these columns of the rows of a complete response. */
async function rowsOf(client: InfluxClient, script: string, columns: readonly string[]): Promise<string[][]> {
  const found: string[][] = [];
  const row = (cells: readonly string[]) => found.push([...cells]);
  await readRows(client.query(script, AbortSignal.timeout(REQUEST_MS)), { columns, row });
  return found;
}
