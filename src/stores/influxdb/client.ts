import { Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { HttpError, InfluxDB } from "@influxdata/influxdb-client";
import type { InfluxAddress } from "./address.js";

/** The requests that this engine makes. Each resolves with a whole answer, rejects, or is given up at its signal. */
export interface InfluxClient {
  /** Writes lines with times in ms. Whatever is answered but 204 rejects: 201 says that some lines were refused. */
  write(lines: string, signal: AbortSignal): Promise<void>;
  /** The pieces of the CSV that a script answers. The pieces alone do not tell whether the last one has come. */
  query(script: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Sends and receives JSON. */
  call(method: "GET" | "POST", path: string, signal: AbortSignal, body?: object): Promise<unknown>;
  close(): void;
}

/** Lines of more bytes are compressed on their way to another machine. Queries are not: the server takes them as they are alone. */
const GZIP_FROM = 1_000;

/** Names of this machine, as a URL has them: from it to itself, compressing costs more than it saves. */
const OWN_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** A client of one server. `silenceMs` is the longest that a connection may be silent, ms. */
export function influxClient({ url, org, bucket, token }: InfluxAddress, silenceMs: number): InfluxClient {
  const Agent = url.startsWith("https:") ? SecureAgent : PlainAgent;
  const isNear = OWN_MACHINE.test(new URL(url).hostname);
  const gzipThreshold = isNear ? Number.POSITIVE_INFINITY : GZIP_FROM;
  const encoding = isNear ? {} : { "accept-encoding": "gzip" };
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: "lifo" });
  const { transport } = new InfluxDB({ url, token, timeout: silenceMs, transportOptions: { agent } });
  const writePath = `/api/v2/write?${new URLSearchParams({ org, bucket, precision: "ms" })}`;
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
      if (status !== 204) throw new HttpError(status ?? 0, "not every line was kept");
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
