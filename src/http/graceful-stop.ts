import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import type { Connections } from "./exchanges.js";

/** How long an idle connection is kept after the last byte, ms: a request may be on its way. */
const QUIET_MS = 250;

const EVERY_MS = 50;

/**
 * Stops a server without dropping a request: no new connections, connections close when their answers are out or when
 * nothing comes any more, and after `drainMs` whatever happens. The application should say `Connection: close` meanwhile.
 */
export async function stopGracefully(server: Server, connections: Connections, drainMs: number): Promise<void> {
  const end = performance.now() + drainMs;
  if (!server.listening) return;
  // The close of net.Server: that of http.Server would also cut idle connections at once, with what is on its way to us.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  for (const [socket, connection] of connections) note(connection, socket.bytesRead);
  const watch = setInterval(() => {
    const now = performance.now();
    for (const [socket, connection] of connections) {
      const { exchange } = connection;
      const idle = exchange === undefined || (exchange.res.writableFinished && exchange.req.complete);
      if (now >= end) socket.destroy();
      else if (socket.bytesRead !== connection.bytes) note(connection, socket.bytesRead);
      else if (idle && now - connection.since >= QUIET_MS) socket.end();
    }
  }, EVERY_MS);
  await closed;
  clearInterval(watch);
  server.close(() => {});
}

function note(connection: { since: number; bytes: number }, bytes: number): void {
  connection.since = performance.now();
  connection.bytes = bytes;
}
