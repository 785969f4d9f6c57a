import { flux, fluxString } from "@influxdata/influxdb-client";
import { StartError } from "../../errors.js";
import type { InfluxClient } from "./client.js";

/** Points of this measurement say from which source the bucket is filled, and whether that is done. Nothing else reads them. */
const MEASUREMENT = "entity_metrics_copy";

const REQUEST_MS = 60_000;

/** The names of all measurements, a row each in `_value`. */
export function measurementsScript(bucket: string): string {
  return flux`import "influxdata/influxdb/schema"

schema.measurements(bucket: ${fluxString(bucket)}, start: 1970-01-01T00:00:00Z)`.toString();
}

/** What was noted of copies into the bucket, oldest first: rows of `source` and `_value`, which is `copying` or `finished`. */
export function marksScript(bucket: string): string {
  return flux`from(bucket: ${fluxString(bucket)})
  |> range(start: 1970-01-01T00:00:00Z)
  |> filter(fn: (r) => r._measurement == ${fluxString(MEASUREMENT)} and r._field == "state")
  |> keep(columns: ["_time", "source", "_value"])
  |> group()
  |> sort(columns: ["_time"])`.toString();
}

/** As `SeriesTarget.begin` says. */
export async function beginCopy(
  client: InfluxClient,
  bucket: string,
  source: string,
  now: number,
): Promise<{ readonly anew: boolean }> {
  const mark = (await rowsOf(client, marksScript(bucket))).at(-1);
  if (mark?._value === "finished") {
    throw new StartError(`The bucket ${bucket} was filled by npm run migrate before, and is in use: name another one`);
  }
  if (mark !== undefined && mark.source !== source) {
    throw new StartError(`The bucket ${bucket} is being filled from another folder: name another one`);
  }
  if (mark === undefined) {
    if ((await rowsOf(client, measurementsScript(bucket))).length > 0) {
      throw new StartError(`The bucket ${bucket} holds points already: name an empty one`);
    }
    await note(client, source, "copying", now);
  }
  return { anew: mark === undefined };
}

/** Safe to repeat. */
export function finishCopy(client: InfluxClient, source: string, now: number): Promise<void> {
  return note(client, source, "finished", now);
}

function note(client: InfluxClient, source: string, state: string, now: number): Promise<void> {
  return client.write(`${MEASUREMENT},source=${source} state="${state}" ${now}`, AbortSignal.timeout(REQUEST_MS));
}

/** The rows of an answer whose values hold no comma, by column. */
async function rowsOf(client: InfluxClient, script: string): Promise<Record<string, string>[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of client.query(script, AbortSignal.timeout(REQUEST_MS))) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trim().split(/\r?\n/);
  const names = (lines.shift() ?? "").split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((value, i) => [names[i] ?? "", value])));
}
