/** What went wrong, as a kind; `http/core/errors` alone knows the status of each. */
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
  | "unavailable"
  | "out-of-space"
  | "internal";

/**
 * One thing that is wrong. `path` holds positions and names of fields as they are on the wire; neither it nor `message` echoes input.
 */
export interface ValidationIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Kinds whose stack a log shows. No other error captures one: a request can hold thousands of rejected messages. */
const loggedKinds: readonly ErrorKind[] = ["internal", "unavailable", "out-of-space"];

/** An error whose own words the caller gets. Every other error is answered as `internal`, without its text. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  readonly issues: readonly ValidationIssue[];
  /** Whole seconds after which trying again makes sense. */
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

/**
 * What an error of a store means to a caller; undefined when it is not one of the store's own, or a defect of this service. A method of a port over a
 * store rejects with such a `ServiceError`, or with an error that this makes one of: `unavailable` while the store cannot be reached, is busy, or does not respond within its deadline;
 * `out-of-space` when a write finds the disk full. A write that rejects may have been kept all the same. What else a method rejects with stands at
 * the method; every other rejection is a defect.
 */
export type ServiceErrorOf = (error: unknown) => ServiceError | undefined;

/** Bad input with one issue. */
export function invalid(code: string, path: string, message: string): ServiceError {
  return new ServiceError("invalid", message, { issues: [{ code, path, message }] });
}

/** What was looked for; throws `not-found` when it is undefined. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ServiceError("not-found", "Not Found");
  return value;
}

/** Why the service cannot start or a command cannot run, in one line for the person who started it. Holds no secret. */
export class StartError extends Error {
  override readonly name = "StartError";
}
