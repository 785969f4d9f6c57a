import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A request and its response. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** The state of a connection. */
export interface Connection {
  /** The newest request and its response; undefined before the first. */
  exchange: Exchange | undefined;
  /** Responses not sent yet, oldest first; pipelined requests have several. */
  readonly unanswered: ServerResponse[];
  /** Time of the sender's last progress (performance.now), and the bytes received by then. */
  since: number;
  bytes: number;
}

/** The open connections of a server. */
export type Connections = ReadonlyMap<Socket, Connection>;

/** Events that deliver a request. */
const REQUEST_EVENTS = ["request", "checkContinue", "checkExpectation"];

/** Tracks the open connections of a server. */
export function followConnections(server: Server): Connections {
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket) => {
    const unanswered: ServerResponse[] = [];
    connections.set(socket, { exchange: undefined, unanswered, since: performance.now(), bytes: 0 });
    socket.once("close", () => {
      connections.delete(socket);
      // Node emits "close" only on the response in transmission, not on those queued behind it.
      for (const res of [...unanswered]) if (res.socket === null) res.emit("close");
    });
  });
  for (const event of REQUEST_EVENTS) {
    server.on(event, (req: IncomingMessage, res: ServerResponse) => {
      const connection = connections.get(req.socket);
      if (connection === undefined) return;
      connection.exchange = { req, res };
      connection.unanswered.push(res);
      // Every component that waits for the end of a response adds a listener.
      res.setMaxListeners(0);
      res.once("close", () => connection.unanswered.splice(connection.unanswered.indexOf(res), 1));
      connection.since = performance.now();
      connection.bytes = req.socket.bytesRead;
    });
  }
  return connections;
}

/**
 * Keeps a connection open after its last response until the rest of the request has arrived, and discards that rest.
 * If a connection were closed with unread bytes, the system would reset it, and a sender that reads late would lose the
 * response. `closeSlowSenders` bounds the time.
 */
export function closeAfterRequest(server: Server, connections: Connections): void {
  server.on("connection", (socket) => {
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const { req } = connections.get(socket)?.exchange ?? {};
      if (req === undefined || req.complete || req.destroyed) return destroySoon();
      socket.end();
      req.once("close", destroySoon).resume();
    };
  });
}

/** Interval of interim responses to a half-closed connection, ms. */
const PROBE_MS = 100;

/**
 * Responds to callers that close their side of the connection after a request. Until something is written, a fully
 * closed connection looks the same. So interim responses are sent while the caller waits: the first one resets a closed
 * connection, and the next one fails. One is not enough, and without `httpAllowHalfOpen` these callers get no response.
 */
export function respondToHalfClosed(server: Server, connections: Connections): void {
  // Missing in Node's types and documentation.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => {
    socket.once("end", () => {
      const probe = setInterval(() => {
        const [next] = connections.get(socket)?.unanswered ?? [];
        const takesInterim = next !== undefined && !next.headersSent && next.req.httpVersionMinor > 0;
        if (takesInterim) next.writeProcessing();
      }, PROBE_MS);
      probe.unref();
      socket.once("close", () => clearInterval(probe));
    });
  });
}

/** Error codes of a request whose caller closed the connection. */
export const DISCONNECT_CODES: readonly string[] = ["ECONNRESET", "ECONNABORTED", "ERR_STREAM_PREMATURE_CLOSE"];

/** Calls `then` once, when the response is sent or its connection is closed. */
export function onResponseClosed(res: ServerResponse, then: () => void): void {
  if (res.closed || res.req.socket.destroyed) then();
  else res.once("close", then);
}

/** Requests whose senders wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Defers `100 Continue` until `sendContinue`, so that no body is sent only to be refused. */
export function deferContinue(server: Server, listener: RequestListener): void {
  server.on("checkContinue", (req, res) => {
    waiting.add(req);
    listener(req, res);
  });
  server.on("checkExpectation", listener);
}

/** Sends `100 Continue` if the sender is waiting for it. */
export function sendContinue(req: IncomingMessage, res: ServerResponse): void {
  if (waiting.delete(req)) res.writeContinue();
}
