import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Settings } from "../../config/settings.js";
import type { ServiceErrorOf } from "../../errors.js";
import type { VerifyKey } from "../../keys/verify-key.js";
import type { Log } from "../../log.js";
import type { Meters } from "../../meters.js";
import { createApp } from "../core/app.js";
import type { BodyParts } from "../core/body.js";
import type { Route } from "../core/route.js";
import { authenticator } from "./authenticate.js";
import { answerClientErrors } from "./client-errors.js";
import { answerHalfClosed, type Connections, deferContinue, followConnections } from "./connections.js";
import { RequestLimits, shedLoad } from "./limits.js";
import { closeSlowReaders, closeSlowSenders, headOptions } from "./slow-clients.js";

export interface ServerParts {
  /** Every route. */
  readonly routes: readonly Route[];
  readonly settings: Pick<Settings, "http" | "limits">;
  readonly bodies: BodyParts;
  readonly verify: VerifyKey;
  readonly log: Log;
  readonly meters: Meters;
  readonly serviceErrorOf: ServiceErrorOf;
}

/** The port of the service. */
export interface ApiServer {
  readonly server: Server;
  /** Opens the port; the address is a URL without a path. */
  listen(): Promise<string>;
  /** Closes the port; resolves when the last answer is out, `http.drain_ms` later at most. */
  stop(): Promise<void>;
}

/**
 * How long a connection without a request stays open, ms: longer than clients and proxies keep theirs (nginx 60 s,
 * Caddy 2 minutes), so that they close it. If the service closed it, a request that is on its way at that time would be
 * lost.
 */
const IDLE_MS = 150_000;

/**
 * Connections that may wait to be accepted, as far as the system lets them (`net.core.somaxconn`). Where there is no
 * room the system drops the caller's packet, and the caller tries again after 1, 3 and 7 s: a refusal would come
 * seconds late.
 */
const BACKLOG = 4096;

/** Puts the parts of the HTTP edge together. */
export function openServer({ routes, settings, bodies, verify, log, meters, serviceErrorOf }: ServerParts): ApiServer {
  const { http, limits } = settings;
  const requestLimits = new RequestLimits(limits, bodies.parsing);
  const authenticate = authenticator({
    verify,
    wrongKeysPerMinute: limits.wrong_keys_per_minute,
    trustProxy: http.trust_proxy,
    keyInQuery: http.key_in_query,
  });
  const codedPaths = routes.filter(({ errorCode }) => errorCode !== undefined).map(({ path }) => path);
  let stopping = false;
  const running = { requestLimits, authenticate, bodies };
  const app = createApp({ routes, log, meters, settings, ...running, serviceErrorOf, stopping: () => stopping });
  // The application adds headers for browsers of other sites, `Connection: close`, and the codes of a protocol.
  const isPlain = ({ method, url = "", headers }: IncomingMessage) =>
    !stopping &&
    method !== "OPTIONS" &&
    headers.origin === undefined &&
    !codedPaths.some((path) => url.startsWith(path));
  const answer = shedLoad(requestLimits, { meters, isPlain }, app.callback());
  const server = createServer({
    maxHeaderSize: limits.header_bytes,
    requireHostHeader: false,
    keepAliveTimeout: IDLE_MS,
    ...headOptions(http.slow_sender_ms),
  });
  // No header is dropped: a request with too many is refused.
  server.maxHeadersCount = 0;
  const connections = followConnections(server);
  server.on("connection", () => bodies.parsing.connectionAccepted());
  server.on("request", answer);
  deferContinue(server, answer);
  answerHalfClosed(server, connections);
  answerClientErrors(server, connections, limits);
  closeSlowSenders(server, connections, http.slow_sender_ms);
  closeSlowReaders(server, connections, http.slow_reader_ms);
  meters.gauge("http_requests_under_way", "Requests in flight.", () => requestLimits.inFlight);
  meters.gauge("http_requests_waiting", "Requests in flight that have not begun.", () => requestLimits.waiting);
  meters.gauge("http_connections", "Open connections.", () => connections.size);

  return {
    server,

    async listen() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ port: http.port, host: http.host, backlog: BACKLOG }, resolve);
      });
      const { port } = server.address() as AddressInfo;
      return `http://${http.host.includes(":") ? `[${http.host}]` : http.host}:${port}`;
    },

    async stop() {
      stopping = true;
      await stopGracefully(server, connections, http.drain_ms);
    },
  };
}

/** How often an idle connection is found without a new byte before it is closed: a request may be on its way. */
const QUIET_CHECKS = 5;
const CHECK_MS = 50;

/**
 * Stops a server without dropping a request: no new connections, connections close when their answers are out or when
 * nothing comes any more, and after `drainMs` whatever happens. The application should say `Connection: close`
 * meanwhile.
 */
async function stopGracefully(server: Server, connections: Connections, drainMs: number): Promise<void> {
  const end = performance.now() + drainMs;
  if (!server.listening) return;
  // The close of net.Server: that of http.Server would also cut idle connections at once, with what is on its way to
  // us.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  // Checks are counted, not time: bytes that come while the process stands still are seen after it only.
  const quiet = new Map<Socket, { bytes: number; checks: number }>();
  const watch = setInterval(() => {
    const over = performance.now() >= end;
    for (const [socket, connection] of connections) {
      const { exchange } = connection;
      const idle = exchange === undefined || (exchange.res.writableFinished && exchange.req.complete);
      const before = quiet.get(socket);
      if (over) socket.destroy();
      else if (before?.bytes !== socket.bytesRead) quiet.set(socket, { bytes: socket.bytesRead, checks: 0 });
      else if (++before.checks >= QUIET_CHECKS && idle) socket.end();
    }
  }, CHECK_MS);
  await closed;
  clearInterval(watch);
  server.close(() => {});
}
