import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/clock.js";
import { type Log, openLog } from "../../../src/log.js";
import { openInflux } from "../../../src/stores/influxdb/index.js";
import type { MetricEngine } from "../../../src/stores/stores.js";
import { dropBucket } from "../../support/drop-from-servers.js";
import { influxdbToken, influxdbUrl, ownName } from "../../support/servers.js";
import { type Overrides, settingsFor } from "../../support/service.js";

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
  const engine = await openInflux({ settings, log, clock: systemClock });
  return {
    ...engine,
    bucket,
    async close() {
      await engine.close();
      await dropBucket(bucket);
    },
  };
}

/** Writes lines with times in ms, as another program would. */
export async function writeLines(bucket: string, lines: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ org: process.env.TEST_INFLUXDB_ORG ?? "", bucket, precision: "ms" });
  await ask("POST", `/api/v2/write?${query}`, lines.join("\n"));
}

/** A request to InfluxDB as an operator makes it, and its answer. */
export async function ask(method: string, path: string, body?: string | object): Promise<unknown> {
  const response = await fetch(new URL(path, process.env.TEST_INFLUXDB_URL), {
    method,
    headers: { authorization: `Token ${influxdbToken()}` },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** The bucket as InfluxDB describes it. */
export async function describeBucket(name: string): Promise<BucketAnswer | undefined> {
  const { buckets } = (await ask("GET", `/api/v2/buckets?name=${name}`)) as { buckets: BucketAnswer[] };
  return buckets[0];
}

export interface BucketAnswer {
  readonly id: string;
  readonly orgID: string;
  readonly retentionRules: readonly { readonly everySeconds: number }[];
}

/** Creates a bucket with a retention of `everySeconds`, 0 for unlimited. */
export async function makeBucket(name: string, everySeconds: number): Promise<BucketAnswer> {
  const body = { orgID: await organizationId(), name, retentionRules: [{ type: "expire", everySeconds }] };
  return (await ask("POST", "/api/v2/buckets", body)) as BucketAnswer;
}

/** Has a bucket keep points for so many seconds from now on, as an operator does. */
export async function shortenRetention(name: string, everySeconds: number): Promise<void> {
  const { id = "" } = (await describeBucket(name)) ?? {};
  const rule = { type: "expire", everySeconds, shardGroupDurationSeconds: 3_600 };
  await ask("PATCH", `/api/v2/buckets/${id}`, { retentionRules: [rule] });
}

export interface Permission {
  readonly action: "read" | "write";
  readonly resource: { readonly type: string; readonly id?: string; readonly orgID?: string };
}

/** A token that may do this and nothing else. */
export async function makeToken(permissions: readonly Permission[]): Promise<string> {
  const body = { orgID: await organizationId(), permissions };
  return ((await ask("POST", "/api/v2/authorizations", body)) as { token: string }).token;
}

export async function organizationId(): Promise<string> {
  const query = new URLSearchParams({ org: process.env.TEST_INFLUXDB_ORG ?? "" });
  const { orgs } = (await ask("GET", `/api/v2/orgs?${query}`)) as { orgs: { id: string }[] };
  return orgs[0]?.id ?? "";
}
