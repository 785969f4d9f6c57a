import { type ErrorKind, ServiceError } from "../errors.js";

/** The status of each kind of error. */
export const statusOf: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "timed-out": 408,
  conflict: 409,
  "too-large": 413,
  "address-too-long": 414,
  "unsupported-media": 415,
  unprocessable: 422,
  "too-many-requests": 429,
  "headers-too-large": 431,
  internal: 500,
  unavailable: 503,
  "out-of-space": 507,
};

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: object;
}

/**
 * The error envelope, with its status and headers. An error that is not a `ServiceError` tells nothing of itself.
 * `errorCode` says what the protocol of the route calls the kind of error, where it has names of its own.
 */
export function errorResponse(error: unknown, errorCode?: (kind: ErrorKind) => string): ErrorResponse {
  const known =
    error instanceof ServiceError ? error : new ServiceError("internal", "Internal error", { cause: error });
  const status = statusOf[known.kind];
  const errors =
    known.problems.length > 0 ? known.problems : [{ code: codeOf(known.kind), path: "", message: known.message }];
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (known.kind === "unauthenticated") headers["WWW-Authenticate"] = 'Bearer realm="entity-metrics"';
  const retryAfter = known.retryAfter ?? (known.kind === "unavailable" ? 1 : undefined);
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const code = errorCode === undefined ? {} : { code: errorCode(known.kind) };
  return { status, headers, body: { status, message: known.message, data: null, errors, ...code } };
}

function codeOf(kind: ErrorKind): string {
  return kind.replaceAll("-", "_");
}
