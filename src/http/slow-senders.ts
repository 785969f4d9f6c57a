import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../errors.js";
import type { Connection, Connections } from "./exchanges.js";
import { answerInstead } from "./raw-answer.js";

/** Fewer bytes than this in the whole time are no progress, so that a byte a second does not keep a connection. */
const PROGRESS_BYTES = 256;

/** How long the rest of a body may take whose answer is out already, ms. */
const LATE_BODY_MS = 5000;

/**
 * Closes those who do not send, `ms` after their last progress at the latest. Time counts only while we wait for
 * bytes: not while bytes that came wait for us. Heads are watched by Node itself (see `headOptions`).
 */
export function closeSlowSenders(server: Server, connections: Connections, ms: number): void {
  const every = ms / 30;
  const watch = setInterval(() => {
    const now = performance.now();
    for (const [socket, connection] of connections) check(socket, connection, now, ms - 2 * every);
  }, every);
  watch.unref();
  server.once("close", () => clearInterval(watch));
}

/** Options of a server whose heads must be whole within `ms`; how long a body may take is not Node's business. */
export function headOptions(ms: number): {
  headersTimeout: number;
  requestTimeout: 0;
  connectionsCheckingInterval: number;
} {
  const every = Math.ceil(ms / 30);
  return { headersTimeout: Math.floor(ms - 2 * every), requestTimeout: 0, connectionsCheckingInterval: every };
}

function check(socket: Socket, connection: Connection, now: number, ms: number): void {
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
