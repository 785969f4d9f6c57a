import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Settings } from "../config/settings.js";
import type { ServiceError } from "../errors.js";
import type { VerifyKey } from "../keys/verify-key.js";
import type { Meters } from "../meters.js";
import { type Admission, noPlace, noPlaceOfKey } from "./admission.js";
import { presentedKey } from "./authenticate.js";
import { wholeErrorResponse } from "./errors.js";
import type { Route } from "./route.js";

export interface EarlyParts {
  readonly routes: readonly Route[];
  readonly admission: Pick<Admission, "isFull" | "hasFullKey" | "isKeyFull">;
  readonly verify: VerifyKey;
  readonly meters: Pick<Meters, "request">;
  readonly cors: Settings["http"]["cors"];
  /** Whether the service is stopping. */
  stopping(): boolean;
}

/** A response that is made before there is a request for it. */
interface Prepared {
  /** What `/metrics` calls the request. */
  readonly method: string;
  readonly route: string;
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** As text, so that it leaves in one piece with the headers. */
  readonly body: string;
}

/**
 * Refuses a request that would get no place, by its head alone, before it reaches the application: that costs a fraction of the time, and
 * the rest is left for the requests that are served. Every other request goes on to `answer`; what cannot be refused by its head
 * alone is refused there, with the same error. Node reads the body of a refused request and throws it away, or closes the connection if
 * the caller waits to be asked for the body.
 */
export function refuseEarly(
  { routes, admission, verify, meters, cors, stopping }: EarlyParts,
  answer: RequestListener,
): RequestListener {
  const placed = routes.filter(({ scopes, ownPlaces }) => scopes !== "keyless" && !ownPlaces);
  const starts = new Set(placed.map(({ path }) => firstSegment(path)));
  const withoutPlace = prepareAll(noPlace(), placed);
  const withoutPlaceOfKey = prepareAll(noPlaceOfKey(), placed);

  /** Whether its route needs a place, and the refusal depends on nothing but the route. */
  function isPlain({ method, url = "", headers }: IncomingMessage): boolean {
    const isOfBrowser = headers.origin !== undefined && cors.origins.length > 0;
    return starts.has(firstSegment(url)) && method !== "OPTIONS" && !isOfBrowser && !stopping();
  }

  /** Whether the key of a request is known at once, and has no place left. */
  function isOfFullKey(req: IncomingMessage): boolean {
    const key = presentedKey(req);
    const caller = key === undefined ? undefined : verify(key);
    if (!(caller instanceof Promise)) return caller !== undefined && admission.isKeyFull(caller.keyId);
    // The application asks again, and has the error.
    caller.catch(() => {});
    return false;
  }

  function responseTo(req: IncomingMessage): Prepared | undefined {
    if ((!admission.isFull && !admission.hasFullKey) || !isPlain(req)) return undefined;
    if (admission.isFull) return withoutPlace(req);
    return isOfFullKey(req) ? withoutPlaceOfKey(req) : undefined;
  }

  return (req, res) => {
    const prepared = responseTo(req);
    if (prepared === undefined) {
      answer(req, res);
      return;
    }
    send(res, prepared);
    meters.request(prepared.method, prepared.route, prepared.status, 0);
  };
}

/** Prepares an error for each route, and for paths with parameters; says which is due to a request. */
function prepareAll(error: ServiceError, routes: readonly Route[]): (req: IncomingMessage) => Prepared {
  const other = prepare(error, { method: "other", path: "none" });
  const known = new Map(routes.map((route) => [`${route.method} ${route.path}`, prepare(error, route)]));
  return ({ method, url = "" }) => {
    const mark = url.indexOf("?");
    return known.get(`${method} ${mark < 0 ? url : url.slice(0, mark)}`) ?? other;
  };
}

interface ErrorRoute extends Pick<Route, "path" | "errorCode"> {
  readonly method: string;
}

function prepare(error: ServiceError, route: ErrorRoute): Prepared {
  const { status, headers, text } = wholeErrorResponse(error, route);
  return { method: route.method, route: route.path, status, headers: Object.entries(headers).flat(), body: text };
}

function send(res: ServerResponse, { status, headers, body }: Prepared): void {
  res.writeHead(status, [...headers, "X-Request-Id", randomUUID()]);
  res.end(body);
}

function firstSegment(path: string): string {
  const end = path.indexOf("/", 1);
  return end < 0 ? path : path.slice(0, end);
}
