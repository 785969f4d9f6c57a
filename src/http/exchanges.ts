import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A request and its response. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** What goes on on a connection. */
export interface Connection {
  /** The newest request and its answer; undefined before the first. */
  exchange: Exchange | undefined;
  /** Responses that are not out yet, the oldest first: of pipelined requests there are several. */
  readonly unanswered: Set<ServerResponse>;
  /** When the sender last made progress (performance.now), and how many bytes had come by then. */
  since: number;
  bytes: number;
}

/** The open connections of a server. */
export type Connections = ReadonlyMap<Socket, Connection>;

/** Follows the connections of a server. */
export function followConnections(server: Server): Connections {
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket) => {
    const unanswered = new Set<ServerResponse>();
    connections.set(socket, { exchange: undefined, unanswered, since: performance.now(), bytes: 0 });
    socket.once("close", () => {
      connections.delete(socket);
      // Node tells the response that it is sending that its connection is gone, and not those queued behind it.
      for (const res of unanswered) if (res.socket === null) res.emit("close");
    });
  });
  for (const event of ["request", "checkContinue", "checkExpectation"]) {
    server.on(event, (req: IncomingMessage, res: ServerResponse) => {
      const connection = connections.get(req.socket);
      if (connection === undefined) return;
      connection.exchange = { req, res };
      connection.unanswered.add(res);
      res.once("close", () => connection.unanswered.delete(res));
      connection.since = performance.now();
      connection.bytes = req.socket.bytesRead;
    });
  }
  return connections;
}

/** What waits for the end of a response: its listeners would be too many for Node's taste, one each. */
const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/** Calls `then` once, when the response is out, or its connection gone. */
export function whenOut(res: ServerResponse, then: () => void): void {
  if (res.closed || res.req.socket.destroyed) {
    then();
    return;
  }
  const others = waiting.get(res);
  if (others !== undefined) {
    others.push(then);
    return;
  }
  const all = [then];
  waiting.set(res, all);
  res.once("close", () => {
    for (const each of all) each();
  });
}
