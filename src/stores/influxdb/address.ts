import type { Settings } from "../../config.js";
import { StartError } from "../../errors.js";

/** Where the series are kept, and with what right. */
export interface InfluxAddress {
  /** Of the server, over HTTP. */
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
    throw wrongUrl("holds a user or a password, which InfluxDB 2 does not know");
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
