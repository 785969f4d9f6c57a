import { type ErrorKind, ServiceError } from "../../errors.js";

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
  busy: 503,
  "out-of-space": 507,
};

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: object;
}

/** Errors of a protocol that a route speaks. */
export interface ProtocolErrors {
  /** Returns the `code` at the top of the body, from the kind of an error and the code of its first issue. */
  code(kind: ErrorKind, issue: string): string;
  /** Kind in place of a 503, for clients that retry only after 429. */
  readonly unavailable?: "too-many-requests";
}

/**
 * Returns the error envelope with its status and headers. Contains no details of errors other than `ServiceError`.
 * `protocol` is the one of the route.
 */
export function errorResponse(error: unknown, protocol?: ProtocolErrors): ErrorResponse {
  const known = knownError(error, protocol);
  const status = statusOf[known.kind];
  const { message, issues } = known;
  const errors = issues.length > 0 ? issues : [{ code: codeOf(known.kind), path: "", message }];
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (known.kind === "unauthenticated") headers["WWW-Authenticate"] = 'Bearer realm="entity-metrics"';
  const retryAfter = known.retryAfter ?? (statusOf[known.kind] === 503 ? 1 : undefined);
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const code = protocol === undefined ? {} : { code: protocol.code(known.kind, errors[0]?.code ?? "") };
  return { status, headers, body: { status, message, data: null, errors, ...code } };
}

function knownError(error: unknown, protocol: ProtocolErrors | undefined): ServiceError {
  if (!(error instanceof ServiceError)) return new ServiceError("internal", "Internal error", { cause: error });
  const { kind, message, retryAfter = 1 } = error;
  if (statusOf[kind] !== 503 || protocol?.unavailable === undefined) return error;
  return new ServiceError(protocol.unavailable, message, { retryAfter, cause: error });
}

/** Returns a complete error response for use outside the application: all headers and the body as text. */
export function wholeErrorResponse(
  error: ServiceError,
  protocol?: ProtocolErrors,
): {
  status: number;
  headers: Record<string, string>;
  text: string;
} {
  const { status, headers, body } = errorResponse(error, protocol);
  const text = JSON.stringify(body);
  const common = {
    "Content-Type": "application/json; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": String(Buffer.byteLength(text)),
  };
  return { status, headers: { ...common, ...headers }, text };
}

function codeOf(kind: ErrorKind): string {
  return kind.replaceAll("-", "_");
}
