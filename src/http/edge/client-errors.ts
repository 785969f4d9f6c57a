import { randomUUID } from "node:crypto";
import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { invalid, ServiceError } from "../../errors.js";
import { type Connections, onResponseClosed } from "./connections.js";
import { wholeErrorResponse } from "./errors.js";
import { MAX_URL_BYTES, urlTooLong } from "./request-target.js";

/** Time for a caller to read the last response of its connection, ms. */
const LINGER_MS = 1000;

/** Responds with the error envelope to requests that Node's parser rejects. */
export function respondToClientErrors(server: Server, connections: Connections): void {
  const refused = new WeakSet<Duplex>();
  server.on("clientError", (error: ParserError, socket) => {
    if (error.code === "ECONNRESET" || error.code === "EPIPE" || !socket.writable) {
      socket.destroy();
      return;
    }
    // The parser fails again on further bytes of the connection.
    if (refused.has(socket)) return;
    refused.add(socket);
    const refusal = describe(error);
    const { exchange } = connections.get(socket as Socket) ?? {};
    if (exchange === undefined || exchange.req.complete) respondNext(socket, connections, refusal);
    else if (exchange.res.writableEnded) onResponseClosed(exchange.res, () => socket.destroy());
    else respondWithError(exchange.res, refusal);
  });
  server.on("connect", (_req: unknown, socket: Duplex) => {
    // Node removes its own listener from the socket of a CONNECT; an error without a listener ends the process.
    socket.on("error", () => socket.destroy());
    const refusal = new ServiceError("method-not-allowed", "CONNECT is not allowed");
    respondNext(socket, connections, refusal, { Allow: "GET, HEAD, OPTIONS" });
  });
}

interface ParserError extends Error {
  readonly code?: string;
  /** Bytes that the parser failed on. */
  readonly rawPacket?: Buffer;
}

function describe({ code, rawPacket }: ParserError): ServiceError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ServiceError("timed-out", "The request timed out before it was complete");
  if (code !== "HPE_HEADER_OVERFLOW") return invalid("malformed_request", "", "The request is not valid HTTP");
  if (hasLongTarget(rawPacket)) return urlTooLong();
  return new ServiceError("headers-too-large", "The head of the request is too large");
}

/** Returns whether these bytes begin with a request line whose target is too long. */
function hasLongTarget(packet: Buffer | undefined): boolean {
  const start = packet?.subarray(0, MAX_URL_BYTES + 20).toString("latin1") ?? "";
  const target = /^[A-Z-]{1,20} ([^ \r\n]*)/.exec(start)?.[1] ?? "";
  return target.length >= Math.min(MAX_URL_BYTES, start.length - 20);
}

/** Responds to bytes that never became a request, after the responses to earlier requests. */
function respondNext(
  socket: Duplex,
  connections: Connections,
  error: ServiceError,
  extra: Record<string, string> = {},
): void {
  const last = connections.get(socket as Socket)?.unanswered.at(-1);
  if (last === undefined) respondRaw(socket, error, extra);
  else onResponseClosed(last, () => socket.writable && respondRaw(socket, error, extra));
}

/** Writes the response to the connection and closes it. */
function respondRaw(socket: Duplex, error: ServiceError, extra: Record<string, string>): void {
  const { status, headers, text } = lastResponse(error);
  const all = { ...headers, "X-Request-Id": randomUUID(), ...extra };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const replaced = new WeakSet<ServerResponse>();

/**
 * Sends this error unless a response has begun, and then closes the connection, which also ends a read of the body. A
 * second call for a response has no effect.
 */
export function respondWithError(res: ServerResponse, error: ServiceError): void {
  if (replaced.has(res)) return;
  replaced.add(res);
  const { req } = res;
  const { socket } = req;
  socket.once("close", () =>
    req.destroy(Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" })),
  );
  if (!res.headersSent) {
    const { status, headers, text } = lastResponse(error);
    res.writeHead(status, headers);
    res.end(text);
  }
  const close = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (res.writableEnded) onResponseClosed(res, close);
  else close();
}

/** Returns the last response of a connection. */
function lastResponse(error: ServiceError): ReturnType<typeof wholeErrorResponse> {
  const { headers, ...rest } = wholeErrorResponse(error);
  return { ...rest, headers: { ...headers, Connection: "close" } };
}
