import { createServer, type Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { connectionAccepted } from "../async/yielding.js";
import { type AppDependencies, createApp } from "./core/app.js";
import { respondToClientErrors } from "./edge/client-errors.js";
import {
  type Connections,
  closeAfterRequest,
  deferContinue,
  followConnections,
  respondToHalfClosed,
} from "./edge/connections.js";
import { limitRequests, RequestLimits } from "./edge/limits.js";
import { checkEvery, closeSlowReaders, closeSlowSenders, type SlowTimes } from "./edge/slow-clients.js";
import { type AuthenticateDependencies, authenticator } from "./keys/authenticate.js";

export interface ServerDependencies
  extends Pick<AppDependencies, "routes" | "settings" | "memory" | "log" | "meters" | "toServiceError">,
    Pick<AuthenticateDependencies, "verify" | "keys" | "clock" | "wrongKeysPerMinute"> {
  readonly slowTimes: SlowTimes;
}

/** The HTTP server of the service. */
export interface ApiServer {
  readonly server: Server;
  /** Opens the port and resolves with its URL without a path. */
  listen(): Promise<string>;
  /** Closes the port. Resolves when the last response is sent, at most `http.drain_ms` later. */
  stop(): Promise<void>;
}

/** Maximum bytes of a request's head, with its URL. */
const HEADER_BYTES = 16_384;

/**
 * Idle time of a connection, ms: longer than the idle time of clients and proxies (nginx 60 s, Caddy 2 minutes), so
 * that they close it. If the service closed it, a request in transit would be lost.
 */
const IDLE_MS = 150_000;

/**
 * Maximum connections waiting to be accepted, up to the system's limit (`net.core.somaxconn`). When it is full, the
 * system drops packets and callers retry after 1, 3 and 7 s, so refusals would be late.
 */
const BACKLOG = 4096;

/** Composes the HTTP edge. */
export function openServer(dependencies: ServerDependencies): ApiServer {
  const { routes, settings, meters, slowTimes } = dependencies;
  const { http, limits } = settings;
  const requestLimits = new RequestLimits(limits);
  const authentication = authenticator({ ...dependencies, requestLimits });
  let isStopping = false;
  const stopping = () => isStopping;
  const protocols = new Map(
    routes.flatMap(({ path, protocolErrors }) => (protocolErrors === undefined ? [] : [[path, protocolErrors]])),
  );
  const app = createApp({ ...dependencies, ...authentication, requestLimits, protocols, stopping });
  const listener = limitRequests(requestLimits, { meters, protocols, stopping }, app.callback());
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    requireHostHeader: false,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: slowTimes.senderMs,
    connectionsCheckingInterval: checkEvery(slowTimes.senderMs),
    // Bodies are bounded by their progress, as NDJSON may have no end.
    requestTimeout: 0,
  });
  // Keep all headers: a request with too many is refused.
  server.maxHeadersCount = 0;
  const connections = followConnections(server);
  server.on("connection", connectionAccepted);
  server.on("request", listener);
  deferContinue(server, listener);
  closeAfterRequest(server, connections);
  respondToHalfClosed(server, connections);
  respondToClientErrors(server, connections);
  closeSlowSenders(server, connections, slowTimes.senderMs);
  closeSlowReaders(server, connections, slowTimes.readerMs);
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
      isStopping = true;
      await stopGracefully(server, connections, http.drain_ms);
    },
  };
}

/** Checks without a new byte before an idle connection is closed: a request may be in transit. */
const QUIET_CHECKS = 5;
const CHECK_MS = 50;

/**
 * Stops a server without dropping a request: accepts no connections, closes connections when their responses are sent
 * or no bytes arrive, and closes all after `drainMs`. The application should send `Connection: close` during this time.
 */
async function stopGracefully(server: Server, connections: Connections, drainMs: number): Promise<void> {
  const end = performance.now() + drainMs;
  if (!server.listening) return;
  // net.Server's close: http.Server's close would also close idle connections at once, with data in transit.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  // Counts checks, not time: after a stall of the process, arrived bytes are seen only afterwards.
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
