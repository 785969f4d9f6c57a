import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What goes on on a connection. */
export interface Connection {
  /** The newest request and its answer; undefined before the first. */
  exchange: { readonly req: IncomingMessage; readonly res: ServerResponse } | undefined;
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
    connections.set(socket, { exchange: undefined, since: performance.now(), bytes: 0 });
    socket.once("close", () => connections.delete(socket));
  });
  for (const event of ["request", "checkContinue", "checkExpectation"]) {
    server.on(event, (req: IncomingMessage, res: ServerResponse) => {
      const connection = connections.get(req.socket);
      if (connection === undefined) return;
      connection.exchange = { req, res };
      connection.since = performance.now();
      connection.bytes = req.socket.bytesRead;
    });
  }
  return connections;
}
