import { Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { HttpError, InfluxDB } from "@influxdata/influxdb-client";
import type { Settings } from "../../config/settings.js";
import { StartError } from "../../errors.js";

/** Location of the series, and the token for it. */
export interface InfluxAddress {
  /** HTTP URL of the server. */
  readonly url: string;
  readonly org: string;
  readonly bucket: string;
  readonly token: string;
}

const allowed = "influxdb://host:8086/?org=O&bucket=B, or influxdbs://… over TLS, and a token in INFLUX_TOKEN";

/** Reads METRICS_URL and INFLUX_TOKEN. Throws a `StartError` that names what is missing. */
export function influxAddress({ metrics }: Pick<Settings, "metrics">): InfluxAddress {
  const [scheme = ""] = metrics.url.split("//", 1);
  const protocol = { "influxdb:": "http:", "influxdbs:": "https:" }[scheme];
  const url = protocol === undefined ? undefined : parsed(`${protocol}${metrics.url.slice(scheme.length)}`);
  if (url === undefined || url.hostname === "") throw wrongUrl("is not such a URL");
  if (url.username !== "" || url.password !== "")
    throw wrongUrl("contains a user or a password, which InfluxDB 2 does not support");
  for (const name of url.searchParams.keys()) {
    if (!["org", "bucket", "token"].includes(name)) throw wrongUrl("has a parameter besides org, bucket and token");
  }
  const part = (name: string) => {
    const value = url.searchParams.get(name);
    if (value === null || value === "") throw wrongUrl(`has no ${name}`);
    return value;
  };
  const org = part("org");
  const bucket = part("bucket");
  const token = metrics.token ?? part("token");
  if (!/^[\x21-\x7e]+$/.test(token)) throw new StartError("INFLUX_TOKEN is wrong: a token is ASCII without blanks");
  return { url: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, org, bucket, token };
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function wrongUrl(what: string): StartError {
  return new StartError(`METRICS_URL ${what}. Allowed: ${allowed}`);
}

/** Requests of this engine. Each resolves with a complete response, or rejects; its signal aborts it. */
export interface InfluxClient {
  /** Writes lines with times in ns. Rejects for any status except 204: 201 reports that some lines were refused. */
  write(lines: string, signal: AbortSignal): Promise<void>;
  /** Deletes all points of a measurement, whose name contains no quote. */
  deleteMeasurement(name: string, signal: AbortSignal): Promise<void>;
  /** Yields the chunks of the CSV response. They do not show whether the response is complete. */
  query(script: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Sends and receives JSON. */
  call(method: "GET" | "POST", path: string, signal: AbortSignal, body?: object): Promise<unknown>;
  close(): void;
}

/** Lines of more bytes are compressed for a remote server. Queries are not: the server accepts no compressed ones. */
const GZIP_FROM = 1_000;

/** Host names of this machine: compression costs more than it saves. */
const OWN_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** A client of one server. A connection that is silent for `silenceMs` is closed. */
export function influxClient({ url, org, bucket, token }: InfluxAddress, silenceMs: number): InfluxClient {
  const Agent = url.startsWith("https:") ? SecureAgent : PlainAgent;
  const isLocal = OWN_MACHINE.test(new URL(url).hostname);
  const gzipThreshold = isLocal ? Number.POSITIVE_INFINITY : GZIP_FROM;
  const encoding = isLocal ? {} : { "accept-encoding": "gzip" };
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: "lifo" });
  const { transport } = new InfluxDB({ url, token, timeout: silenceMs, transportOptions: { agent } });
  const writePath = `/api/v2/write?${new URLSearchParams({ org, bucket, precision: "ns" })}`;
  const queryPath = `/api/v2/query?${new URLSearchParams({ org })}`;
  const dialect = { header: true, delimiter: ",", annotations: [], dateTimeFormat: "RFC3339" };

  return {
    async write(lines, signal) {
      const headers = { "content-type": "text/plain; charset=utf-8" };
      const options = { method: "POST", headers, gzipThreshold, signal };
      let status: number | undefined;
      await transport.request(writePath, lines, options, (_, statusCode) => {
        status = statusCode;
      });
      if (status !== 204) throw new HttpError(status ?? 0, "not every line was stored");
    },

    async deleteMeasurement(name, signal) {
      const body = { start: "1970-01-01T00:00:00Z", stop: "2262-01-01T00:00:00Z", predicate: `_measurement="${name}"` };
      const path = `/api/v2/delete?${new URLSearchParams({ org, bucket })}`;
      await transport.request(path, body, { method: "POST", signal });
    },

    query(script, signal) {
      const headers = { "content-type": "application/json; charset=utf-8", ...encoding };
      const body = JSON.stringify({ query: script, type: "flux", dialect });
      return transport.iterate(queryPath, body, { method: "POST", headers, signal });
    },

    call(method, path, signal, body) {
      return transport.request(path, body, { method, headers: { accept: "application/json" }, signal });
    },

    close: () => agent.destroy(),
  };
}
