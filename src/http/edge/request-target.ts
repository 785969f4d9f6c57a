import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { invalid, notFound, ServiceError } from "../../errors.js";

/** The path of `OPTIONS *`, a request to the whole server (RFC 9110, 9.3.7). */
export const WHOLE_SERVER = "*";

/** Maximum bytes of a URL. */
export const MAX_URL_BYTES = 8_192;

/** Returns the error of a URL that is too long. */
export function urlTooLong(): ServiceError {
  return new ServiceError("address-too-long", `The URL is longer than ${MAX_URL_BYTES} bytes`);
}

/** Checks the head of a request and returns its normalized path. Throws when the head is refused. */
export function canonicalPath(req: IncomingMessage): string {
  return normalizedPath(checkedHead(req));
}

/** Headers that must not be repeated: a proxy could have used another one. */
const ONCE = new Map(
  ["Host", "Authorization", "Content-Type", "Idempotency-Key"].map((name) => [name.toLowerCase(), name]),
);

/** Maximum headers of a request. */
const MAX_HEADERS = 1_000;

/** Refuses heads that the parser accepts and the service does not. Returns the raw path. */
function checkedHead(req: IncomingMessage): string {
  const url = req.url ?? "/";
  if (url.length > MAX_URL_BYTES) throw urlTooLong();
  if (req.rawHeaders.length > 2 * MAX_HEADERS) {
    throw new ServiceError("headers-too-large", `The request has more than ${MAX_HEADERS} headers`);
  }
  if (req.httpVersionMinor > 0 && req.headers.host === undefined) {
    throw invalid("missing_header", "Host", "There is no Host header");
  }
  const repeated = repeatedHeader(req.rawHeaders);
  if (repeated !== undefined) throw invalid("repeated_header", repeated, `There is more than one ${repeated} header`);
  const coding = req.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw invalid(
      "invalid_transfer_encoding",
      "Transfer-Encoding",
      "A body may be sent in chunks, and in no other encoding",
    );
  }
  if (url === WHOLE_SERVER && req.method === "OPTIONS") return url;
  req.url = withoutHost(url);
  return req.url.split("?", 1)[0] as string;
}

/**
 * Returns the first header that must not be repeated and is. `rawHeaders` alternates names and values; reading
 * `headersDistinct` instead would cost a sixth of a request that is answered 304.
 */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    if (seen.has(name)) return ONCE.get(name);
    if (ONCE.has(name)) seen.add(name);
  }
  return undefined;
}

/** Returns the request target without the host of an absolute one (`http://host/path`). */
function withoutHost(url: string): string {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]+/i, "");
  if (!target.startsWith("/")) throw invalid("invalid_target", "path", "The request target must be a path");
  return target;
}

/**
 * Normalizes a path: each segment is percent-decoded once and encoded again. `%2F` is part of a value, `+` stays `+`,
 * nothing is resolved or folded. An empty segment, and thus an extra slash, is not found.
 */
function normalizedPath(path: string): string {
  if (path === "/") return path;
  if (path.endsWith("/") || path.includes("//")) throw notFound("route");
  if (PLAIN.test(path)) return path;
  return path
    .split("/")
    .map((raw) => (PLAIN.test(raw) ? raw : encodeURIComponent(decode(raw))))
    .join("/");
}

/** Characters that need no escape. */
const PLAIN = /^[!-$&-~]*$/;

const MALFORMED = /%(?![0-9A-Fa-f]{2})/;

const CONTROL = /\p{Cc}/u;

/** `raw` has one character per byte of the request line. */
function decode(raw: string): string {
  if (MALFORMED.test(raw)) throw invalid("invalid_escape", "path", "The path has a malformed percent escape");
  const bytes = Buffer.from(
    raw.replaceAll(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  if (!isUtf8(bytes)) throw invalid("not_utf8", "path", "The path is not valid UTF-8");
  const text = bytes.toString("utf8");
  if (CONTROL.test(text)) throw invalid("control_character", "path", "The path has a control character");
  return text;
}
