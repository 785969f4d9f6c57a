import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../errors.js";
import { respondWithError } from "./client-errors.js";
import type { Connection, Connections } from "./connections.js";

/** Checks per connection within the time of its setting. */
const CHECKS = 30;

/**
 * Fewer bytes than this in the whole time do not count as progress, so a byte per second does not keep a connection
 * open.
 */
const PROGRESS_BYTES = 256;

/**
 * Returns server options that require complete request heads within `ms`. `closeSlowSenders` bounds bodies by their
 * progress.
 */
export function headOptions(ms: number): {
  headersTimeout: number;
  requestTimeout: 0;
  connectionsCheckingInterval: number;
} {
  const every = Math.ceil(ms / CHECKS);
  return { headersTimeout: Math.floor(ms - 2 * every), requestTimeout: 0, connectionsCheckingInterval: every };
}

/**
 * Closes connections whose sender makes no progress for `ms`. Counts only time in which the service waits for bytes,
 * not time in which received bytes wait for the service.
 */
export function closeSlowSenders(server: Server, connections: Connections, ms: number): void {
  checkEvery(server, ms / CHECKS, () => {
    const now = performance.now();
    for (const [socket, connection] of connections) checkSender(socket, connection, now, ms - (2 * ms) / CHECKS);
  });
}

function checkSender(socket: Socket, connection: Connection, now: number, ms: number): void {
  const { exchange } = connection;
  if (exchange === undefined || exchange.req.complete) return;
  const { req, res } = exchange;
  if (res.writableFinished) {
    // The rest of the body is discarded, however fast it arrives.
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

/** Written bytes that have not left this process, and the number of checks without a change. */
interface Unread {
  bytes: string;
  checks: number;
}

/**
 * Closes connections whose reader has taken nothing of a pending response for `ms`. Counts checks, not time: a stalled
 * process closes nothing.
 */
export function closeSlowReaders(server: Server, connections: Connections, ms: number): void {
  const seen = new WeakMap<Socket, Unread>();
  checkEvery(server, ms / CHECKS, () => {
    for (const socket of connections.keys()) {
      if (socket.writableLength === 0) {
        seen.delete(socket);
        continue;
      }
      const bytes = unreadBytes(socket);
      const before = seen.get(socket);
      if (before?.bytes !== bytes) seen.set(socket, { bytes, checks: 0 });
      else if (++before.checks >= CHECKS) socket.destroy();
    }
  });
}

/**
 * Returns the unsent bytes as a text that changes with any progress. `writableLength` decreases only by whole chunks,
 * and a response is often one chunk, so the queue of the handle counts too, as in Node's own timeouts.
 */
function unreadBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): string {
  return `${socket.writableLength} ${socket._handle?.writeQueueSize}`;
}

function checkEvery(server: Server, ms: number, check: () => void): void {
  const timer = setInterval(check, ms);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}
