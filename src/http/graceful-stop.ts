import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Connections } from "./exchanges.js";

/** How often an idle connection is found without a new byte before it is closed: a request may be on its way. */
const LOOKS = 5;

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
  // Looks are counted, not time: bytes that come while the process stands still are seen after it only.
  const quiet = new Map<Socket, { bytes: number; looks: number }>();
  const watch = setInterval(() => {
    const over = performance.now() >= end;
    for (const [socket, connection] of connections) {
      const { exchange } = connection;
      const idle = exchange === undefined || (exchange.res.writableFinished && exchange.req.complete);
      const before = quiet.get(socket);
      if (over) socket.destroy();
      else if (before?.bytes !== socket.bytesRead) quiet.set(socket, { bytes: socket.bytesRead, looks: 0 });
      else if (++before.looks >= LOOKS && idle) socket.end();
    }
  }, EVERY_MS);
  await closed;
  clearInterval(watch);
  server.close(() => {});
}
