import { singleFlight } from "../../async/single-flight.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Log } from "../../log.js";
import { tlsError } from "../tls-errors.js";
import type { InfluxAddress, InfluxClient } from "./connection.js";
import { BucketError, statusOf } from "./errors.js";

/** Time between two checks of the bucket, which detect a changed retention, ms. */
const CHECK_EVERY_MS = 5_000;

interface KnownBucketOptions {
  /** Finds the bucket on the server, or creates it. */
  readonly find: (signal: AbortSignal) => Promise<Bucket>;
  readonly log: Log;
  /** Host and port of the server, for log lines. */
  readonly host: string;
  /** Time limit of one check, ms. */
  readonly checkMs: number;
}

/** The state of the bucket at the last check. Checks repeat until `close`. */
export class KnownBucket {
  readonly #options: KnownBucketOptions;
  /** Whether a write found the server's disk full and none has succeeded since. */
  isFull = false;
  #bucket: Bucket | undefined;
  #retentionMs: number | undefined;
  readonly #timer = setInterval(() => this.check().catch(() => {}), CHECK_EVERY_MS).unref();
  #closed = false;
  /** The state that was last logged. */
  #logged: string | undefined;

  constructor(options: KnownBucketOptions) {
    this.#options = options;
  }

  /** Retention at the last check, ms; undefined: unlimited, or not known yet. */
  get retentionMs(): number | undefined {
    return this.#retentionMs;
  }

  /** Resolves when a check has found a bucket; checks at once if none has. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#bucket === undefined) await this.checked(signal);
  }

  /** Resolves after a new check. */
  async checked(signal: AbortSignal): Promise<void> {
    await withTimeLimit(this.#options.checkMs, [signal], () => this.check());
  }

  /** Checks now. Calls during a check share it. Rejects with a `BucketError`, or the client's error. */
  readonly check = singleFlight(() => this.#checkNow());

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  async #checkNow(): Promise<Bucket> {
    const { host } = this.#options;
    try {
      const bucket = await withTimeLimit(this.#options.checkMs, [], this.#options.find);
      this.#logOnce("up", () => this.#options.log.info(bucket, "the bucket of the series is ready"));
      this.#bucket = bucket;
      this.#retentionMs = bucket.retentionMs;
      return bucket;
    } catch (error) {
      if (error instanceof BucketError) {
        this.#bucket = undefined;
        this.#logOnce(error.message, () =>
          this.#options.log.error(`Series can be neither read nor written: InfluxDB at ${host}: ${error.message}`),
        );
      } else this.#logOnce("away", () => this.#options.log.warn(`InfluxDB at ${host} is unreachable; retrying`));
      throw error;
    }
  }

  /** Logs a state when it begins, and not again while it lasts. */
  #logOnce(state: string, log: () => void): void {
    if (this.#logged !== state && !this.#closed) log();
    this.#logged = state;
  }
}

/** A bucket as the server describes it. */
export interface Bucket {
  readonly id: string;
  /** Retention, ms; undefined: unlimited. */
  readonly retentionMs: number | undefined;
}

/**
 * Finds the bucket, or creates one that keeps points for `retentionMs` (undefined: unlimited). Throws a `BucketError`
 * with a message for the operator if the token permits neither.
 */
export async function findBucket(
  client: InfluxClient,
  address: InfluxAddress,
  retentionMs: number | undefined,
  signal: AbortSignal,
): Promise<Bucket> {
  const found = await lookUp(client, address, signal);
  if (found !== undefined) return found;
  const orgID = await organization(client, address, signal);
  const everySeconds = Math.ceil((retentionMs ?? 0) / 1_000);
  const retentionRules = retentionMs === undefined ? [] : [{ type: "expire", everySeconds }];
  try {
    await client.call("POST", "/api/v2/buckets", signal, { orgID, name: address.bucket, retentionRules });
  } catch (error) {
    const status = statusOf(error);
    if (status === 401 || status === 403)
      throw new BucketError("there is no such bucket, and the token may not create it");
    // 409 and 422: another process may have created it concurrently.
    if (status !== 409 && status !== 422) throw error;
  }
  const made = await lookUp(client, address, signal);
  if (made === undefined) throw new BucketError("there is no such bucket, or the token may not see it");
  return made;
}

async function lookUp(
  client: InfluxClient,
  { org, bucket }: InfluxAddress,
  signal: AbortSignal,
): Promise<Bucket | undefined> {
  const query = new URLSearchParams({ org, name: bucket });
  const { buckets = [] } = await call<{ buckets?: BucketResponse[] }>(client, `/api/v2/buckets?${query}`, signal);
  const found = buckets.find(({ name }) => name === bucket);
  if (found === undefined) return undefined;
  const { everySeconds = 0 } = found.retentionRules?.find(({ type }) => type === "expire") ?? {};
  return { id: found.id, retentionMs: everySeconds > 0 ? 1_000 * everySeconds : undefined };
}

async function organization(client: InfluxClient, { org }: InfluxAddress, signal: AbortSignal): Promise<string> {
  const query = new URLSearchParams({ org });
  const { orgs: [found] = [] } = await call<{ orgs?: { id: string }[] }>(client, `/api/v2/orgs?${query}`, signal);
  if (found === undefined) throw new BucketError("there is no such organization, or the token may not see it");
  return found.id;
}

interface BucketResponse {
  readonly id: string;
  readonly name: string;
  readonly retentionRules?: readonly { readonly type?: string; readonly everySeconds?: number }[];
}

/** Returns the JSON of a GET; `{}` for a 404. */
async function call<T extends object>(client: InfluxClient, path: string, signal: AbortSignal): Promise<Partial<T>> {
  try {
    return ((await client.call("GET", path, signal)) as T | undefined) ?? {};
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return {};
    if (status === 401 || status === 403) throw new BucketError("the token is refused");
    const words = tlsError(error);
    if (words !== undefined) throw new BucketError(words);
    throw error;
  }
}
