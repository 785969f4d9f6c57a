import { isUtf8 } from "node:buffer";
import { invalid, ServiceError } from "../errors.js";

/** A request's target as it came: path and query apart, both still encoded. */
export interface Target {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** Takes the target of a request line apart; of an absolute one (`http://host/path`) the part after the host counts. */
export function targetOf(url: string): Target {
  const from = url.startsWith("/") ? 0 : pathStart(url);
  const mark = url.indexOf("?", from);
  if (mark < 0) return { path: url.slice(from), query: "" };
  return { path: url.slice(from, mark), query: url.slice(mark + 1) };
}

function pathStart(url: string): number {
  const host = /^https?:\/\/[^/?#]+/i.exec(url)?.[0].length;
  if (host === undefined || url[host] !== "/") throw invalid("bad_target", "path", "The request target must be a path");
  return host;
}

/**
 * A path in its one spelling, for the router: each segment percent-decoded once and encoded again. `%2F` is part of a
 * value, `+` stays `+`, nothing is resolved or folded. An empty segment, and so a slash too many, leads nowhere.
 */
export function canonicalPath(path: string): string {
  if (path === "/") return path;
  if (path.endsWith("/") || path.includes("//")) throw new ServiceError("not-found", "Not Found");
  if (PLAIN.test(path)) return path;
  return path
    .split("/")
    .map((raw) => (PLAIN.test(raw) ? raw : encodeURIComponent(decode(raw))))
    .join("/");
}

/** What stands for itself. */
const PLAIN = /^[!-$&-~]*$/;

const MALFORMED = /%(?![0-9A-Fa-f]{2})/;

const CONTROL = /\p{Cc}/u;

/** `raw` holds one character for each byte of the request line. */
function decode(raw: string): string {
  if (MALFORMED.test(raw)) throw invalid("bad_escape", "path", "The path has a malformed percent escape");
  const bytes = Buffer.from(
    raw.replaceAll(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  if (!isUtf8(bytes)) throw invalid("not_utf8", "path", "The path is not valid UTF-8");
  const text = bytes.toString("utf8");
  if (CONTROL.test(text)) throw invalid("control_character", "path", "The path has a control character");
  return text;
}
