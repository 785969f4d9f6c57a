import { MongoBulkWriteError, MongoError, MongoNetworkError, MongoSystemError } from "mongodb";
import { ServiceError } from "../../errors.js";

const RETRY_AFTER_SECONDS = 2;

const OUT_OF_DISK_SPACE = 14031;

/** Server codes of errors that end by themselves or after an operator's repair. */
const passing: ReadonlySet<unknown> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  13, // Unauthorized: the rights of the user were changed
  18, // AuthenticationFailed: its password was
  24, // LockTimeout
  43, // CursorNotFound
  50, // MaxTimeMSExpired
  63, // StaleShardVersion
  64, // WriteConcernTimeout
  79, // UnknownReplWriteConcern
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  112, // WriteConflict
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  150, // StaleEpoch
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  237, // CursorKilled
  262, // ExceededTimeLimit
  317, // ConnectionPoolExpired
  462, // IngressRequestRateLimitExceeded
  9001, // SocketException
  10058, // LegacyNotPrimary
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13388, // StaleConfig
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

/** Errors of the driver about its own connections, by name. */
const passingNames: ReadonlySet<string> = new Set([
  "MongoClientClosedError",
  "MongoNotConnectedError",
  "MongoOperationTimeoutError",
  "MongoServerClosedError",
  "MongoStalePrimaryError",
  "MongoTopologyClosedError",
  "MongoWaitQueueTimeoutError",
  "MongoWriteConcernError",
]);

/**
 * Returns the `ServiceError` for an error of MongoDB; undefined for any other error and for a defect of this service.
 */
export function mongoServiceError(thrown: unknown): ServiceError | undefined {
  const error = unwrapped(thrown);
  if (error instanceof MongoError) {
    if (isDuplicate(error)) return undefined;
    if (isOutOfSpace(error)) return new ServiceError("out-of-space", "The store has no space left", { cause: error });
    if (!isPassing(error)) return undefined;
  } else if (!isCut(error)) return undefined;
  return new ServiceError("unavailable", "The store is not available", {
    retryAfter: RETRY_AFTER_SECONDS,
    cause: error,
  });
}

/** Returns whether an error of a group of calls may be caused by one of them. */
export const isOfOneCall = (error: unknown) => mongoServiceError(error) === undefined;

/** Returns the cause of a bulk write that could not be attempted. */
function unwrapped(error: unknown): unknown {
  const { errorResponse } = error instanceof MongoBulkWriteError ? error : { errorResponse: undefined };
  return (errorResponse as unknown) instanceof Error ? errorResponse : error;
}

/** Returns whether a connection was cut. Node's own errors, such as a write after the end, have no `syscall`. */
function isCut(error: unknown): boolean {
  return error instanceof Error && "code" in error && cutCodes.has(error.code);
}

const cutCodes: ReadonlySet<unknown> = new Set(["ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE", "ETIMEDOUT"]);

function isOutOfSpace(error: MongoError): boolean {
  return codesOf(error).includes(OUT_OF_DISK_SPACE) || /no space left|disk is full/i.test(error.message);
}

function isPassing(error: MongoError): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError || passingNames.has(error.name))
    return true;
  if (error.hasErrorLabel("RetryableWriteError") || error.hasErrorLabel("PoolRequestedRetry")) return true;
  return codesOf(error).some((code) => passing.has(code)) || isUnconfirmed(error);
}

/** Returns the codes of the error and of each part of a bulk write. */
function codesOf(error: Error): unknown[] {
  return [(error as MongoError).code, ...writeErrorsOf(error).map(({ code }) => code)];
}

function writeErrorsOf(error: Error): { code: number }[] {
  const { writeErrors = [] } = error as { writeErrors?: { code: number } | { code: number }[] };
  return [writeErrors].flat();
}

/** Returns whether the write may not be acknowledged by a majority. */
function isUnconfirmed(error: Error): boolean {
  const { result } = error as { result?: { getWriteConcernError?: () => unknown; writeConcernError?: unknown } };
  return (result?.getWriteConcernError?.() ?? result?.writeConcernError) !== undefined;
}

const DUPLICATE = 11000;

/** Returns whether a write failed only because a unique value exists already. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof Error) || isUnconfirmed(error)) return false;
  const writeErrors = writeErrorsOf(error);
  return (writeErrors.length > 0 ? writeErrors : [error as MongoError]).every(({ code }) => code === DUPLICATE);
}
