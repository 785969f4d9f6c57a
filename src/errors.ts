/** Kind of an error; only `http/edge/errors` maps it to a status. */
export type ErrorKind =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "timed-out"
  | "conflict"
  | "too-large"
  | "address-too-long"
  | "unsupported-media"
  | "unprocessable"
  | "too-many-requests"
  | "headers-too-large"
  | "busy"
  | "unavailable"
  | "out-of-space"
  | "internal";

/** One issue. `path` contains positions and field names of the request; neither it nor `message` repeats input. */
export interface ValidationIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Kinds whose stack is logged. No other error captures a stack: a request can have thousands of rejected messages. */
const loggedKinds: readonly ErrorKind[] = ["internal", "unavailable", "out-of-space"];

/** An error whose message is returned to the caller. Every other error is returned as `internal`, without its text. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  readonly issues: readonly ValidationIssue[];
  /** Seconds after which a retry makes sense, an integer. */
  readonly retryAfter: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { issues?: readonly ValidationIssue[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    const { stackTraceLimit } = Error;
    if (!loggedKinds.includes(kind)) Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "ServiceError";
    this.kind = kind;
    this.issues = options.issues ?? [];
    this.retryAfter = options.retryAfter;
  }
}

/** A part of a store is damaged on the disk: the same call would fail again. */
export class DamagedData extends ServiceError {
  constructor(cause: unknown) {
    super("unavailable", "The stored data is damaged", { cause });
  }
}

/**
 * Converts an error of a store for a caller; undefined for an error that is not the store's own, or a defect of this
 * service. A method of a port over a store rejects with such a `ServiceError`, or with an error that this converts to
 * one: `unavailable` while the store is unreachable, or exceeds its deadline; `DamagedData`; `out-of-space` if a write
 * finds the disk full. A write that rejects may nevertheless be stored. Other rejections are documented at the method;
 * any further one is a defect.
 */
export type ToServiceError = (error: unknown) => ServiceError | undefined;

/**
 * Returns whether the data that a call is about may have caused its error: it is damaged, or is not as the service
 * writes it. Otherwise the store, or its load, has caused it.
 */
export function isOfData(error: unknown, toServiceError: ToServiceError): boolean {
  const known = error instanceof ServiceError ? error : toServiceError(error);
  return known === undefined || known instanceof DamagedData;
}

/** Returns an error for invalid input with one issue. */
export function invalid(code: string, path: string, message: string): ServiceError {
  return new ServiceError("invalid", message, { issues: [{ code, path, message }] });
}

/** Returns the issue of invalid input; rethrows any other error. */
export function issueOf(error: unknown): ValidationIssue {
  const issue = error instanceof ServiceError && error.kind === "invalid" ? error.issues[0] : undefined;
  if (issue === undefined) throw error;
  return issue;
}

/** Returns an error for a request that the state does not allow, with one issue. */
export function conflict(code: string, path: string, message: string): ServiceError {
  return new ServiceError("conflict", message, { issues: [{ code, path, message }] });
}

/** Returns the error for something that does not exist, of this kind. */
export function notFound(kind: string): ServiceError {
  const issues = [{ code: "not_found", path: "", message: `There is no such ${kind}` }];
  return new ServiceError("not-found", "Not Found", { issues });
}

/** Returns the value; throws `notFound` if it is undefined. */
export function found<T>(value: T | undefined, kind: string): T {
  if (value === undefined) throw notFound(kind);
  return value;
}

/** Reason of a failed start or command, in one line for the operator. Contains no secret. */
export class StartError extends Error {
  override readonly name = "StartError";
}
