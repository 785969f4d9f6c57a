import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ServiceError } from "../errors.js";
import { errorResponse } from "./error-response.js";
import { whenOut } from "./exchanges.js";

/** Answers on the bare connection, for a request that never became one, and closes it. */
export function answerRaw(socket: Duplex, error: ServiceError, extra: Record<string, string> = {}): void {
  const { status, headers, body } = errorResponse(error);
  const text = JSON.stringify(body);
  const all = { ...common(text), "X-Request-Id": randomUUID(), ...headers, ...extra };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** How long a caller may take to read such an answer, ms. */
const LINGER_MS = 1000;

/**
 * Answers a request in the place of its handler, if there is no response yet, and closes the connection once the response
 * is out; that ends the wait for a body. A second call for the same response does nothing.
 */
export function answerInstead(res: ServerResponse, error: ServiceError): void {
  if (replaced.has(res)) return;
  replaced.add(res);
  const { req } = res;
  const { socket } = req;
  socket.once("close", () =>
    req.destroy(Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" })),
  );
  if (!res.headersSent) {
    const { status, headers, body } = errorResponse(error);
    const text = JSON.stringify(body);
    res.writeHead(status, { ...common(text), ...headers });
    res.end(text);
  }
  const close = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (res.writableEnded) whenOut(res, close);
  else close();
}

const replaced = new WeakSet<ServerResponse>();

function common(text: string): Record<string, string> {
  return {
    "Content-Type": "application/json; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": String(Buffer.byteLength(text)),
    Connection: "close",
  };
}
