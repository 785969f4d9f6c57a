import type { IncomingMessage } from "node:http";
import { invalid, ServiceError } from "../errors.js";
import { targetOf } from "./raw-path.js";

/** Headers that must not come twice: whoever stands before us, or sent them, could mean the other one. */
const ONCE = ["Host", "Authorization", "Content-Type", "Idempotency-Key"];

/** Looks at what the parser lets through and a request must not have. Hands out the raw path. */
export function checkedHead(req: IncomingMessage, urlBytes: number): string {
  const url = req.url ?? "/";
  if (url.length > urlBytes) throw new ServiceError("address-too-long", `The URL is longer than ${urlBytes} bytes`);
  if (req.httpVersionMinor > 0 && req.headers.host === undefined) {
    throw invalid("missing_header", "Host", "There is no Host header");
  }
  refuseRepeated(req.rawHeaders);
  const coding = req.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw invalid(
      "bad_transfer_encoding",
      "Transfer-Encoding",
      "A body may be sent in chunks, and in no other encoding",
    );
  }
  const { path, query } = targetOf(url);
  if (!url.startsWith("/")) req.url = query === "" ? path : `${path}?${query}`;
  return path;
}

/** `rawHeaders` holds names and values in turn. */
function refuseRepeated(rawHeaders: readonly string[]): void {
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const place = ONCE.findIndex((once) => once.length === name.length && once.toLowerCase() === name.toLowerCase());
    if (place < 0) continue;
    if ((seen & (1 << place)) !== 0) {
      throw invalid("repeated_header", ONCE[place] as string, `There is more than one ${ONCE[place]} header`);
    }
    seen |= 1 << place;
  }
}
