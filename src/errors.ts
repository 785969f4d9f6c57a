/** What went wrong, as a kind; `http/errors` alone knows the status of each. */
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
 * One thing that is wrong. `path` holds positions and names that we know; neither it nor `message` echoes input. A domain names its
 * own fields there, in the message in braces; `http` puts the names of the wire in their place.
 */
export interface ValidationIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

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
    super(message, { cause: options.cause });
    this.name = "ServiceError";
    this.kind = kind;
    this.issues = options.issues ?? [];
    this.retryAfter = options.retryAfter;
  }
}

/** Bad input with one issue. */
export function invalid(code: string, path: string, message: string): ServiceError {
  return new ServiceError("invalid", message, { issues: [{ code, path, message }] });
}

/** Why the service cannot start or a command cannot run, in one line for the person who started it. Holds no secret. */
export class StartError extends Error {
  override readonly name = "StartError";
}
