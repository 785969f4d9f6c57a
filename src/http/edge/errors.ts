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
  "out-of-space": 507,
};

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: object;
}

/**
 * Returns the error envelope with its status and headers. Contains no details of errors other than `ServiceError`.
 * `errorCode` maps a kind of error to the code of the route's protocol.
 */
export function errorResponse(error: unknown, errorCode?: (kind: ErrorKind) => string): ErrorResponse {
  const known =
    error instanceof ServiceError ? error : new ServiceError("internal", "Internal error", { cause: error });
  const status = statusOf[known.kind];
  const { message, issues } = known;
  const errors = issues.length > 0 ? issues : [{ code: codeOf(known.kind), path: "", message }];
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (known.kind === "unauthenticated") headers["WWW-Authenticate"] = 'Bearer realm="entity-metrics"';
  const retryAfter = known.retryAfter ?? (known.kind === "unavailable" ? 1 : undefined);
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const code = errorCode === undefined ? {} : { code: errorCode(known.kind) };
  return { status, headers, body: { status, message, data: null, errors, ...code } };
}

/** Returns a complete error response for use outside the application: all headers and the body as text. */
export function wholeErrorResponse(error: ServiceError): {
  status: number;
  headers: Record<string, string>;
  text: string;
} {
  const { status, headers, body } = errorResponse(error);
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
