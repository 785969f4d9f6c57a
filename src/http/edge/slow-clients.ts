import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../errors.js";
import { answerInstead } from "./client-errors.js";
import type { Connection, Connections } from "./connections.js";

/** How often a connection is checked within the time that its setting allows. */
const CHECKS = 30;

/** Fewer bytes than this in the whole time are no progress, so that a byte a second does not keep a connection. */
const PROGRESS_BYTES = 256;

/** How long the rest of a body may take whose response is sent already, ms. */
const LATE_BODY_MS = 5000;

/**
 * Options of a server whose request heads must be whole within `ms`. `closeSlowSenders` bounds the bodies, by their
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
 * Closes connections whose sender makes no progress, `ms` after the last progress at the latest. Time counts only while
 * the service waits for bytes: not while bytes that have arrived wait for the service.
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
    if (now - connection.since > Math.min(ms, LATE_BODY_MS)) socket.destroy();
    return;
  }
  if (req.readableLength > 0 || socket.bytesRead - connection.bytes >= PROGRESS_BYTES) {
    connection.since = now;
    connection.bytes = socket.bytesRead;
  } else if (now - connection.since >= ms) {
    answerInstead(res, new ServiceError("timed-out", "The request did not come in time"));
  }
}

/** How much of what was written to a connection has not left this process, and at how many checks it was that much. */
interface Unread {
  bytes: string;
  checks: number;
}

/**
 * Closes connections whose reader has taken nothing of a waiting response for `ms`. Checks are counted, not time: a
 * process that stalls closes nothing.
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
 * What is left, as a text that changes with any progress. `writableLength` goes down when a whole chunk is out; a
 * response is often one chunk, so the queue of the handle counts too, as it does for Node's own timeouts.
 */
function unreadBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): string {
  return `${socket.writableLength} ${socket._handle?.writeQueueSize}`;
}

function checkEvery(server: Server, ms: number, check: () => void): void {
  const timer = setInterval(check, ms);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}
