import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ServiceError } from "../errors.js";
import { errorResponse } from "./error-response.js";

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

/** Answers in the place of whoever serves a request, if nobody has yet, and closes the connection; that ends the wait for a body. */
export function answerInstead(res: ServerResponse, error: ServiceError): void {
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
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function common(text: string): Record<string, string> {
  return {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(text)),
    Connection: "close",
  };
}
