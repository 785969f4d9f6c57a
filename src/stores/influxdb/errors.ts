import { AbortError, HttpError, RequestTimedOutError } from "@influxdata/influxdb-client";
import { ServiceError } from "../../errors.js";

/** Something that an operator must put right before the bucket can be used. */
export class BucketError extends Error {
  override readonly name = "BucketError";
}

/** An answer that says of itself, or shows, that it is not what was asked for. */
export class BrokenAnswer extends Error {
  override readonly name = "BrokenAnswer";
}

/** Statuses of a server, or of a proxy before it, that is busy, starts, or has a bad moment. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Waits before the second and the third attempt, ms. */
const backoff = [100, 400];

/** The longest that a caller is told to wait, seconds. */
const LONGEST_WAIT = 3_600;

/** What an error of the client means to a caller; undefined when it is none. */
export function influxServiceError(error: unknown): ServiceError | undefined {
  if (error instanceof HttpError) return statusError(error);
  if (error instanceof BucketError) return unavailable(error, 5);
  if (error instanceof BrokenAnswer || error instanceof AbortError || error instanceof RequestTimedOutError) {
    return unavailable(error, 1);
  }
  return undefined;
}

/** What an error of a request to the server means to a caller, whatever it is. */
export function requestError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return influxServiceError(error) ?? unavailable(error, 1);
}

/** How long to wait before attempt `attempt` + 1, ms; undefined when another would end as this one. */
export function waitAfter(error: unknown, attempt: number): number | undefined {
  const wait = backoff[attempt - 1];
  if (error instanceof HttpError) {
    if (!passing.has(error.statusCode) || wait === undefined) return undefined;
    const asked = retryAfter(error);
    return asked === undefined ? wait : Math.max(wait, 1_000 * asked);
  }
  const isFinal =
    error instanceof BucketError ||
    error instanceof BrokenAnswer ||
    error instanceof ServiceError ||
    error instanceof TypeError ||
    error instanceof RangeError;
  return isFinal ? undefined : wait;
}

/** Lines that the server does not understand or does not take are our mistake: sending them again would not help. */
function statusError(error: HttpError): ServiceError {
  const isOurs = [400, 405, 413, 414, 415, 422].includes(error.statusCode);
  if (isOurs) return new ServiceError("internal", "Internal error", { cause: error });
  return unavailable(error, retryAfter(error) ?? 1);
}

/** What the server asks to be left alone for, whole seconds. */
function retryAfter({ headers }: HttpError): number | undefined {
  const asked = Number(headers?.["retry-after"] ?? Number.NaN);
  return Number.isFinite(asked) && asked >= 0 ? Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(asked))) : undefined;
}

function unavailable(cause: unknown, retryAfter: number): ServiceError {
  return new ServiceError("unavailable", "The store of the series is not available; try again", { cause, retryAfter });
}
