// A load that does not wait for responses: requests at a fixed rate, each over a free connection.
import { connect } from "node:net";

/** Interval between two rounds of requests, ms. */
const EVERY_MS = 5;
/** Maximum connections; a request that would need one more is not sent. */
const MOST_CONNECTIONS = 4_000;

/**
 * Sends `request` (bytes of HTTP/1.1, from a function of its number) `perSecond` times a second for `secs` seconds.
 * Resolves with `{ offered, byStatus, seconds }`: by status, the ms of each response and whether each had Retry-After.
 */
export async function flood({ address }, requestOf, { perSecond, secs }) {
  const free = [];
  const all = new Set();
  const byStatus = new Map();
  let offered = 0;
  let unsent = 0;

  const note = (status, ms, hasRetryAfter) => {
    const known = byStatus.get(status) ?? { times: [], retryAfter: 0 };
    byStatus.set(status, known);
    known.times.push(ms);
    if (hasRetryAfter) known.retryAfter += 1;
  };
  const open = () => {
    const connection = new Connection(address, note, free, all);
    all.add(connection);
    return connection;
  };

  const begun = performance.now();
  const end = begun + secs * 1000;
  for (let now = begun; now < end; now = performance.now()) {
    const due = Math.floor(((now - begun) / 1000) * perSecond);
    for (; offered < due; offered += 1) {
      const connection = free.pop() ?? (all.size < MOST_CONNECTIONS ? open() : undefined);
      if (connection === undefined) unsent += 1;
      else connection.send(requestOf(offered));
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  const seconds = (performance.now() - begun) / 1000;
  for (const connection of all) connection.close();
  return { offered, unsent, byStatus, seconds };
}

/** Returns a request as bytes of HTTP/1.1. */
export function bytesOf({ address }, { method, path, body }, key) {
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${address.host}`,
    `Authorization: ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** A connection for one request after another. Responses must have a Content-Length. */
class Connection {
  #socket;
  #sentAt = 0;
  #buffer = Buffer.alloc(0);
  #note;
  #free;

  constructor({ hostname, port }, note, free, all) {
    this.#note = note;
    this.#free = free;
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (data) => this.#take(data));
    // Ignore errors of the connection: they show as missing responses.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      all.delete(this);
      const at = free.indexOf(this);
      if (at >= 0) free.splice(at, 1);
    });
  }

  send(bytes) {
    this.#sentAt = performance.now();
    this.#socket.write(bytes);
  }

  close() {
    this.#socket.destroy();
  }

  #take(data) {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
    const headEnd = this.#buffer.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#buffer.latin1Slice(0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#buffer.length < headEnd + 4 + length) return;
    this.#buffer = Buffer.alloc(0);
    const status = Number(head.slice(9, 12));
    this.#note(status, performance.now() - this.#sentAt, /\r\nretry-after: *\d/i.test(head));
    if (/\r\nconnection: *close/i.test(head)) this.close();
    else this.#free.push(this);
  }
}
