import { type Db, MongoClient, MongoServerError, MongoServerSelectionError, ReadConcern } from "mongodb";
import { retry } from "../../async/retry.js";
import type { Hook } from "../../entities/outbox.js";
import { StartError } from "../../errors.js";
import type { Log } from "../../log.js";
import { tlsError } from "../tls-errors.js";
import { mongoServiceError } from "./errors.js";
import type { KeyWrapping } from "./profiles/entity-keys.js";
import { abortAbandoned, type Transact, transactions } from "./transaction.js";
import { WireConnection } from "./wire-connection.js";

/** Both databases on one server. */
export interface Connection {
  readonly client: MongoClient;
  /** Profiles and related data. */
  readonly data: Db;
  /** Deletion requests and the keys of entities, never restored from a backup. */
  readonly ledger: Db;
  /** Transactions over both databases. */
  readonly transact: Transact;
  /** limits.store_deadline_ms. */
  readonly deadlineMs: number;
  close(): Promise<void>;
}

/** Dependencies of stores over both databases. */
export interface StoreDependencies extends Omit<Connection, "client" | "close"> {
  readonly wrapping: KeyWrapping;
  /** Setting `hooks`. */
  readonly hooks: readonly Hook[];
}

interface ConnectOptions {
  /** ENTITIES_URL. */
  readonly url: string;
  /** limits.store_deadline_ms. */
  readonly deadlineMs: number;
  readonly log: Pick<Log, "warn">;
  /** Maximum wait for an unreachable server at start, ms. */
  readonly waitMs?: number;
}

const WAIT_MS = 30_000;
const PAUSE_MS = 500;

/**
 * Connects, then runs `prepare`. Both are retried while the server is unreachable, so `prepare` must be repeatable.
 * Rejects with a `StartError` without secrets if retrying does not help.
 */
export async function connect(
  { url, deadlineMs, log, waitMs = WAIT_MS }: ConnectOptions,
  prepare: (connection: Connection) => Promise<void>,
): Promise<Connection> {
  const until = performance.now() + waitMs;
  let hosts = "";

  async function once(): Promise<Connection> {
    const client = openClient(url, deadlineMs);
    hosts = hostsOf(client);
    let opened: Pick<Connection, "close"> = client;
    try {
      await client.connect();
      const connection = await databasesOf(client, { url, deadlineMs, log });
      opened = connection;
      await prepare(connection);
      return connection;
    } catch (error) {
      await opened.close();
      throw startErrorOf(error, hosts) ?? error;
    }
  }

  return retry(once, (error, attempt) => {
    if (mongoServiceError(error)?.kind !== "unavailable" && !isNameError(error)) return undefined;
    if (performance.now() > until) {
      throw new StartError(`ENTITIES_URL: MongoDB at ${hosts} is unreachable, or has no primary`, { cause: error });
    }
    if (attempt === 1) log.warn({ hosts }, `MongoDB at ${hosts} is unreachable; retrying for ${waitMs / 1_000} s`);
    return PAUSE_MS;
  });
}

/**
 * Writes are acknowledged by a majority, on disk, and reads use the primary, even if the URL specifies otherwise: only
 * options given for a database override the URL's options.
 */
export const promised = {
  readPreference: "primary",
  readConcern: new ReadConcern("local"),
  writeConcern: { w: "majority", journal: true },
} as const;

const MAX_MS = 5000;

function openClient(url: string, deadlineMs: number): MongoClient {
  // With two @ signs the text after the first belongs to the password: do not print it as a host.
  if (/@.*@/.test(url.split("?", 1)[0] ?? "")) {
    throw new StartError(
      "ENTITIES_URL is wrong: write %40 for @, %3A for : and %2F for / in the user and the password",
    );
  }
  const commandMs = commandLimitMs(deadlineMs);
  const selectMs = Math.min(MAX_MS, commandMs);
  try {
    return new MongoClient(url, {
      ...undeclared,
      appName: appNameOf(url),
      readPreference: "primary",
      socketTimeoutMS: commandMs,
      waitQueueTimeoutMS: commandMs,
      serverSelectionTimeoutMS: selectMs,
      connectTimeoutMS: selectMs,
      heartbeatFrequencyMS: MAX_MS,
    });
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message } = error as Error;
    // The driver repeats the URL, or the user, in some of its messages.
    throw new StartError(`ENTITIES_URL is wrong${/:\/\/|@|^Username/.test(message) ? "" : `: ${message}`}`);
  }
}

/** An option that the driver accepts and its types omit. */
const undeclared = { connectionType: WireConnection };

/** Time limit of one command, ms. It leaves time for a second attempt, as the connection may have died silently. */
export function commandLimitMs(deadlineMs: number): number {
  return Math.ceil(deadlineMs / 2);
}

const DEFAULT_DATABASE = "entity_metrics";
/** Maximum length of a database name in MongoDB, without `_ledger`. */
const MAX_NAME_LENGTH = 63 - "_ledger".length;

/** Returns the name of the database of the profiles; the ledger's has the suffix `_ledger`. */
export function databaseOf(url: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/.exec(url)?.[1] ?? "";
  const name = decodeURIComponent(path) || DEFAULT_DATABASE;
  if (Buffer.byteLength(name) <= MAX_NAME_LENGTH) return name;
  throw new StartError(`ENTITIES_URL names a database of more than ${MAX_NAME_LENGTH} bytes`);
}

/** Client name: the same in all processes over the same databases. */
function appNameOf(url: string): string {
  return `entity-metrics ${databaseOf(url)}`;
}

async function databasesOf(client: MongoClient, { url, deadlineMs, log }: ConnectOptions): Promise<Connection> {
  const name = databaseOf(url);
  const admin = client.db("admin");
  const { msg, setName, isreplicaset } = await admin.command({ hello: 1 });
  // A member that waits to be initiated reports `isreplicaset`, the router of a sharded cluster `isdbgrid`.
  if (setName === undefined && isreplicaset !== true && msg !== "isdbgrid") {
    const words = "has no transactions, as it is no replica set: start it with --replSet";
    throw new StartError(`ENTITIES_URL: MongoDB at ${hostsOf(client)} ${words}`);
  }
  // A process that was killed during an upgrade leaves a transaction, too.
  const abandoned = abortAbandoned(client.db("admin", promised), appNameOf(url), log);
  return {
    client,
    data: client.db(name, promised),
    ledger: client.db(`${name}_ledger`, promised),
    transact: transactions(client, deadlineMs),
    deadlineMs,
    close() {
      void abandoned.stop();
      return client.close();
    },
  };
}

const AUTHENTICATION_FAILED = 18;
const UNAUTHORIZED = 13;

/**
 * Returns the error if retrying does not help, or undefined. Never includes the server's message, which may repeat what
 * it was sent.
 */
function startErrorOf(error: unknown, hosts: string): StartError | undefined {
  if (error instanceof StartError) return error;
  const code = error instanceof MongoServerError ? error.code : undefined;
  if (code === AUTHENTICATION_FAILED) {
    return new StartError(`ENTITIES_URL: MongoDB at ${hosts} refuses the user or the password`);
  }
  if (code === UNAUTHORIZED) {
    return new StartError(`ENTITIES_URL: MongoDB at ${hosts} does not let this user use both databases`);
  }
  const reason = tlsErrorOf(error);
  if (reason !== undefined) {
    return new StartError(`ENTITIES_URL: MongoDB at ${hosts} cannot be used: ${reason}`, { cause: error });
  }
  const { code: failed, path } = error as NodeJS.ErrnoException;
  if (path === undefined || failed === undefined) return undefined;
  return new StartError(`ENTITIES_URL names the file ${path}, which cannot be read (${failed})`);
}

/** Returns the TLS error that all servers have in common. */
function tlsErrorOf(error: unknown): string | undefined {
  if (!(error instanceof MongoServerSelectionError)) return tlsError(error);
  const servers = [...(error.reason?.servers.values() ?? [])];
  const reasons = servers.map((server) => tlsError(server.error));
  return reasons.every((reason) => reason !== undefined) ? reasons[0] : undefined;
}

/** Returns whether the DNS lookup of `mongodb+srv://` failed. */
function isNameError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && /^query(Srv|Txt)/.test(String(error.syscall));
}

function hostsOf(client: MongoClient): string {
  return client.options.srvHost ?? client.options.hosts.map(String).join(", ");
}
