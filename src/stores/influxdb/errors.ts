import { HttpError, RequestTimedOutError } from "@influxdata/influxdb-client";
import { retry } from "../../async/retry.js";
import { withTimeLimit } from "../../async/time-limit.js";
import { ServiceError } from "../../errors.js";

/** A problem with the bucket that an operator must solve. */
export class BucketError extends Error {
  override readonly name = "BucketError";
}

/** A response that was truncated, contains an error, or is not the CSV of a query. */
export class BrokenResponse extends Error {
  override readonly name = "BrokenResponse";
}

/** Temporary statuses: the server, or a proxy, is busy or starting. */
const transient = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Part of the message of a 500 while the server's disk is full, or a limit prevents its files from growing. */
const NO_SPACE = /no space left on device|disk quota exceeded|file too large/i;

/** Pauses before the second and the third attempt, ms. */
const pauses = [100, 400];

/** Maximum `Retry-After`, seconds. */
const MAX_WAIT = 3_600;

/** Returns the `ServiceError` for an error of a request to the server, including network errors. */
export function requestError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof HttpError) return statusError(error);
  return unavailable(error, error instanceof BucketError ? 5 : 1);
}

interface AttemptLimits {
  /** Time limit of all attempts together, ms. */
  readonly deadlineMs: number;
  /** Time limit of one attempt, ms. */
  readonly attemptMs: number;
  /** Each aborts the work and its pauses. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Repeats idempotent work until it succeeds: up to three attempts with pauses, within the deadline, and only after
 * temporary errors. Rejects with the last error.
 */
export function attempts<T>(
  { deadlineMs, attemptMs, signals }: AttemptLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  return withTimeLimit(deadlineMs, signals, (signal) =>
    retry(
      () => withTimeLimit(attemptMs, [signal], work),
      (error, attempt) => {
        const pause = pauseAfter(error, attempt);
        return pause === undefined || performance.now() + pause >= end ? undefined : pause;
      },
      signal,
    ),
  );
}

/** Returns the pause before attempt `attempt` + 1, ms; undefined if another attempt would fail in the same way. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  const wait = pauses[attempt - 1];
  if (error instanceof HttpError) {
    if (!transient.has(error.statusCode) || isOutOfSpace(error) || wait === undefined) return undefined;
    const requested = retryAfter(error);
    return requested === undefined ? wait : Math.max(wait, 1_000 * requested);
  }
  const isFinal =
    error instanceof BucketError ||
    error instanceof BrokenResponse ||
    error instanceof ServiceError ||
    error instanceof TypeError ||
    error instanceof RangeError;
  return isFinal ? undefined : wait;
}

/** Returns the error of a request that waited too long. */
export function timedOut(): Error {
  return new RequestTimedOutError();
}

/** The HTTP status that the server sent; undefined for any other error. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof HttpError ? error.statusCode : undefined;
}

/** Returns whether a request has ended, so that it is not executed later. A proxy may be the source of a 5xx. */
export function isAnswered(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status === 201 || (status >= 400 && status < 500 && status !== 408);
}

/** Lines that the server refuses are a defect of this service: retrying would not help. */
function statusError(error: HttpError): ServiceError {
  const isDefect = [400, 405, 413, 414, 415, 422].includes(error.statusCode);
  if (isDefect) return new ServiceError("internal", "Internal error", { cause: error });
  if (isOutOfSpace(error)) return new ServiceError("out-of-space", "The store has no space left", { cause: error });
  return unavailable(error, retryAfter(error) ?? 1);
}

function isOutOfSpace({ statusCode, message, body }: HttpError): boolean {
  return statusCode >= 500 && (NO_SPACE.test(message) || NO_SPACE.test(body ?? ""));
}

/** Returns the pause that the server requests, whole seconds. */
function retryAfter({ headers }: HttpError): number | undefined {
  const requested = Number(headers?.["retry-after"] ?? Number.NaN);
  return Number.isFinite(requested) && requested >= 0
    ? Math.min(MAX_WAIT, Math.max(1, Math.ceil(requested)))
    : undefined;
}

function unavailable(cause: unknown, retryAfter: number): ServiceError {
  return new ServiceError("unavailable", "The store of the series is not available; try again", { cause, retryAfter });
}
