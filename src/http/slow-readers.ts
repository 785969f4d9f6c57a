import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Connections } from "./exchanges.js";

/** How often a connection is looked at before it is closed. Looks are counted, not time: a process that stalls closes nothing. */
const LOOKS = 30;

/** How much of what was written to a connection has not left this process, and at how many looks it was that much. */
interface Unread {
  bytes: string;
  looks: number;
}

/** Closes connections whose reader has taken nothing of a waiting response for `ms`. */
export function closeSlowReaders(server: Server, connections: Connections, ms: number): void {
  const seen = new WeakMap<Socket, Unread>();
  const watch = setInterval(() => {
    for (const socket of connections.keys()) {
      if (socket.writableLength === 0) {
        seen.delete(socket);
        continue;
      }
      const bytes = unreadBytes(socket);
      const before = seen.get(socket);
      if (before?.bytes !== bytes) seen.set(socket, { bytes, looks: 0 });
      else if (++before.looks >= LOOKS) socket.destroy();
    }
  }, ms / LOOKS);
  watch.unref();
  server.once("close", () => clearInterval(watch));
}

/**
 * What is left, as a word that changes with any progress. `writableLength` goes down when a whole chunk is out; a response
 * is often one chunk, so the queue of the handle counts too, as it does for Node's own timeouts.
 */
function unreadBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): string {
  return `${socket.writableLength} ${socket._handle?.writeQueueSize}`;
}
