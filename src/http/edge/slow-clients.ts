import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../errors.js";
import { respondWithError } from "./client-errors.js";
import type { Connection, Connections } from "./connections.js";

/** Times after which a connection without progress is closed, ms. */
export interface SlowTimes {
  /** For the head of a request, and for each further 256 bytes of its body. */
  readonly senderMs: number;
  /** For a reader that takes nothing of its response. */
  readonly readerMs: number;
}

/** Checks per connection within the time of a sender. */
const CHECKS = 30;

/** Returns the time between two checks of senders, ms. */
export function checkEvery(ms: number): number {
  return Math.ceil(ms / CHECKS);
}

/**
 * Fewer bytes than this in the whole time do not count as progress, so a byte per second does not keep a connection
 * open.
 */
const PROGRESS_BYTES = 256;

/**
 * Closes connections whose sender makes no progress for `ms`. Counts only time in which the service waits for bytes,
 * not time in which received bytes wait for the service. Node itself bounds the heads of requests (`headersTimeout`).
 */
export function closeSlowSenders(server: Server, connections: Connections, ms: number): void {
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, connection] of connections) checkSender(socket, connection, now, ms);
  }, checkEvery(ms));
  timer.unref();
  server.once("close", () => clearInterval(timer));
}

function checkSender(socket: Socket, connection: Connection, now: number, ms: number): void {
  const { exchange } = connection;
  if (exchange === undefined || exchange.req.complete) return;
  const { req, res } = exchange;
  if (res.writableFinished) {
    // The response is sent: the sender gets only this time for the rest of its body, however fast it sends.
    if (now - connection.since > ms) socket.destroy();
    return;
  }
  if (req.readableLength > 0 || socket.bytesRead - connection.bytes >= PROGRESS_BYTES) {
    connection.since = now;
    connection.bytes = socket.bytesRead;
  } else if (now - connection.since >= ms) {
    respondWithError(res, new ServiceError("timed-out", "The request timed out before it was complete"));
  }
}

/**
 * Closes connections whose reader takes nothing of a pending response for `ms`: Node's timeout, for which sent bytes
 * are activity. A request in progress may take longer; idle connections end after the server's `keepAliveTimeout`.
 */
export function closeSlowReaders(server: Server, connections: Connections, ms: number): void {
  server.setTimeout(ms, (socket) => {
    const isIdle = connections.get(socket)?.unanswered.length === 0;
    if (isIdle || socket.writableLength > 0) socket.destroy();
  });
}
