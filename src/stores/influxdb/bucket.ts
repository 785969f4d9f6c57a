import { HttpError } from "@influxdata/influxdb-client";
import { tlsError } from "../tls-errors.js";
import type { InfluxAddress } from "./address.js";
import type { InfluxClient } from "./client.js";
import { BucketError } from "./errors.js";

/** A bucket as the server describes it. */
export interface Bucket {
  /** How long it keeps points, ms; undefined: for ever. */
  readonly retentionMs: number | undefined;
}

/**
 * Looks for the bucket, and makes it when there is none: one that keeps points for `keepMs` (undefined: for ever). Throws a
 * `BucketError` with a word for the operator when it cannot be had with this token.
 */
export async function findBucket(
  client: InfluxClient,
  address: InfluxAddress,
  keepMs: number | undefined,
  signal: AbortSignal,
): Promise<Bucket> {
  const found = await lookUp(client, address, signal);
  if (found !== undefined) return found;
  const orgID = await organization(client, address, signal);
  const everySeconds = Math.ceil((keepMs ?? 0) / 1_000);
  const retentionRules = keepMs === undefined ? [] : [{ type: "expire", everySeconds }];
  try {
    await client.call("POST", "/api/v2/buckets", signal, { orgID, name: address.bucket, retentionRules });
  } catch (error) {
    const status = statusOf(error);
    if (status === 401 || status === 403)
      throw new BucketError("there is no such bucket, and the token may not make it");
    // Another process may have made it in this moment.
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
  const { buckets = [] } = await call<{ buckets?: BucketAnswer[] }>(client, `/api/v2/buckets?${query}`, signal);
  const answer = buckets.find(({ name }) => name === bucket);
  if (answer === undefined) return undefined;
  const { everySeconds = 0 } = answer.retentionRules?.find(({ type }) => type === "expire") ?? {};
  return { retentionMs: everySeconds > 0 ? 1_000 * everySeconds : undefined };
}

async function organization(client: InfluxClient, { org }: InfluxAddress, signal: AbortSignal): Promise<string> {
  const query = new URLSearchParams({ org });
  const { orgs: [found] = [] } = await call<{ orgs?: { id: string }[] }>(client, `/api/v2/orgs?${query}`, signal);
  if (found === undefined) throw new BucketError("there is no such organization, or the token may not see it");
  return found.id;
}

interface BucketAnswer {
  readonly name: string;
  readonly retentionRules?: readonly { readonly type?: string; readonly everySeconds?: number }[];
}

/** What a GET answers; nothing when what it names is not there. */
async function call<T extends object>(client: InfluxClient, path: string, signal: AbortSignal): Promise<Partial<T>> {
  try {
    return ((await client.call("GET", path, signal)) as T | undefined) ?? {};
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return {};
    if (status === 401 || status === 403) throw new BucketError("the token is refused");
    const reason = tlsError(error);
    if (reason !== undefined) throw new BucketError(reason);
    throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof HttpError ? error.statusCode : undefined;
}
