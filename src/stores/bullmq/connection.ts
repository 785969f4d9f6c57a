import { Redis, type RedisOptions } from "ioredis";
import { StartError } from "../../errors.js";

/** Connections to the server that JOBS_URL names. It may be away when they are opened, and at any time after. */
export interface Connections {
  /** What all our keys and channels begin with. */
  readonly prefix: string;
  /** Host and port of the server. */
  readonly host: string;
  /** A connection that comes back by itself. These options stand before those of the URL. */
  open(options: RedisOptions): Redis;
  /** Ends them all at once, also those that were made of one by `duplicate`. */
  close(): void;
}

const DEFAULT_PREFIX = "entity-metrics";

/** The longest pause before the next try to connect, ms. */
const LONGEST_PAUSE_MS = 1_000;

const common = {
  connectTimeout: 3_000,
  retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times - 1, 10), LONGEST_PAUSE_MS),
} satisfies RedisOptions;

/** `redis://user:password@host:port/database?prefix=…`; other parameters are options of the client. */
export function connections(jobsUrl: string): Connections {
  const url = checkedUrl(jobsUrl);
  const prefix = url.searchParams.get("prefix") || DEFAULT_PREFIX;
  url.searchParams.delete("prefix");
  const all: Redis[] = [];

  function keep(client: Redis): Redis {
    // Why a connection was lost is told by whoever misses it; without a listener it would be printed.
    client.on("error", () => {});
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (options) => keep(duplicate(options ?? {}));
    all.push(client);
    return client;
  }

  return {
    prefix,
    host: url.host,
    open(options) {
      const ours = { ...common, ...options, replyMapping: "legacy" as const };
      const address = new URL(url);
      for (const name of Object.keys(ours)) address.searchParams.delete(name);
      return keep(new Redis(address.href, ours));
    },
    close() {
      for (const client of all.splice(0)) end(client);
    },
  };
}

/** Ends a connection, and whatever waits for it: one that is about to be tried again would never say that it has ended. */
function end(client: Redis): void {
  client.options.retryStrategy = () => null;
  client.disconnect();
  if (client.status !== "reconnecting") return;
  client.connect().then(
    () => client.disconnect(),
    () => {},
  );
}

function checkedUrl(jobsUrl: string): URL {
  let url: URL;
  try {
    url = new URL(jobsUrl);
    for (const part of [url.username, url.password]) decodeURIComponent(part);
  } catch {
    throw new StartError("JOBS_URL is not a URL. Expected: redis://host:port/database?prefix=name");
  }
  if (!/^\/?\d*$/.test(url.pathname)) {
    throw new StartError("JOBS_URL names a database that is not a number. Expected: redis://host:port/0");
  }
  if (url.searchParams.has("keyPrefix")) {
    throw new StartError("JOBS_URL has a keyPrefix, which the jobs cannot have. Use prefix instead");
  }
  return url;
}
