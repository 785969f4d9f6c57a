import { Redis, type RedisOptions, ReplyError } from "ioredis";
import { StartError } from "../../errors.js";
import type { Probe } from "../../meters.js";
import type { EngineDependencies, JobEngine } from "../stores.js";
import { tlsError } from "../tls-errors.js";
import { bullmqDueNotifications } from "./due-notifications.js";

/** Time limit of one command, ms. */
const COMMAND_MS = 1_000;

/** Silence after which a worker's connection is reopened, ms. An idle one gets a response every 10 s. */
const WORKER_SILENCE_MS = 25_000;

/**
 * Opens the jobs in Redis without waiting for the connection. While Redis is not connected due notifications are
 * dropped, and the poll of the ledger finds the requests.
 */
export async function openBullmq({ settings, log }: EngineDependencies): Promise<JobEngine> {
  const redis = connections(settings.jobs.url);
  const producer = redis.open({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    socketTimeout: 2 * COMMAND_MS,
  });
  /** Reason why Redis refuses connections, if known. */
  let reason: string | undefined;
  /** The last message logged while Redis was unreachable. */
  let logged: string | undefined;
  let closed = false;
  producer.on("error", (error: unknown) => {
    reason = connectionError(error);
  });
  producer.on("ready", () => {
    if (logged !== undefined) log.info(`Redis at ${redis.host} is reachable again`);
    logged = undefined;
    reason = undefined;
  });
  producer.on("close", () => {
    const words = `Redis at ${redis.host} is unreachable${reason === undefined ? "" : `: ${reason}`}`;
    if (logged !== words && !closed) log.warn(words);
    logged = words;
  });
  const consumer = () => redis.open({ maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS });
  const dueNotifications = bullmqDueNotifications({ prefix: redis.prefix, producer, consumer });

  return {
    dueNotifications,
    probes: [redisProbe(producer, () => reason)],
    async close() {
      if (closed) return;
      closed = true;
      await dueNotifications.close();
      redis.close();
    },
  };
}

/** Probes Redis and its configuration, which must not lose jobs. The service works without Redis, with delays. */
function redisProbe(client: Redis, reason: () => string | undefined): Probe {
  return {
    name: "jobs",
    required: false,
    async check() {
      const info = await client.info().catch((error: unknown) => {
        if (reason() === undefined) throw error;
      });
      if (info === undefined) return reason();
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy !== undefined && policy !== "noeviction") return `maxmemory-policy is ${policy}, not noeviction`;
      if (/^aof_enabled:0/m.test(info)) return "appendonly is off";
      return undefined;
    },
  };
}

/** Connections to the Redis of JOBS_URL, which may be unreachable at any time. */
interface Connections {
  /** Prefix of all our keys and channels. */
  readonly prefix: string;
  /** Host and port of the server. */
  readonly host: string;
  /** A connection that reconnects by itself. These options override the URL's. */
  open(options: RedisOptions): Redis;
  /** Ends all connections at once, including BullMQ's duplicates. */
  close(): void;
}

const DEFAULT_PREFIX = "entity-metrics";

/** Maximum pause before the next attempt to connect, ms. */
const MAX_PAUSE_MS = 1_000;

const common = {
  connectTimeout: 3_000,
  retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times - 1, 10), MAX_PAUSE_MS),
} satisfies RedisOptions;

/** `redis://user:password@host:port/database?prefix=…`; other parameters are options of the client. */
function connections(jobsUrl: string): Connections {
  const url = checkedUrl(jobsUrl);
  const prefix = url.searchParams.get("prefix") || DEFAULT_PREFIX;
  url.searchParams.delete("prefix");
  const all: Redis[] = [];

  function keep(client: Redis): Redis {
    // Failing requests report why a connection was lost. Without a listener Node would throw the event.
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

/** Ends a connection and the calls that wait for it. A connection that waits to reconnect would never emit `end`. */
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

/**
 * Returns the reason why Redis refuses the connection, for the operator; its subject is "it". Undefined for temporary
 * errors.
 */
function connectionError(error: unknown): string | undefined {
  const isRefused =
    error instanceof ReplyError && /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/.test((error as Error).message);
  return isRefused ? "it refuses the user or the password" : tlsError(error);
}
