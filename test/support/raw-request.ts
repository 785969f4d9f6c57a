import { connect, type Socket } from "node:net";
import { endsWithTest } from "./ends-with-test.js";

/** A response on a bare connection. */
export interface RawAnswer {
  /** 0 when nothing came. */
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: { status: number; message: string; data: unknown; errors: unknown[] } | undefined;
  /** Whether the service closed the connection. */
  readonly closed: boolean;
  /** From the first byte sent to the end of the answer. */
  readonly ms: number;
}

/** Sends these bytes unchanged, and waits for a complete response or the end of the connection. */
export async function rawRequest(port: number, bytes: string | Buffer, timeoutMs = 10_000): Promise<RawAnswer> {
  const socket = await openSocket(port);
  socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  try {
    return await readAnswer(socket, timeoutMs);
  } finally {
    socket.destroy();
  }
}

/** A bare connection to the service; one that a test has opened is closed after it. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
    endsWithTest(async () => socket.destroy());
  });
}

/** The next answer on a connection. */
export function readAnswer(socket: Socket, timeoutMs = 10_000): Promise<RawAnswer> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => finish(false, new Error("no answer in time")), timeoutMs);
    const finish = (closed: boolean, error?: Error) => {
      clearTimeout(timer);
      socket.removeAllListeners("data").removeAllListeners("close");
      if (error === undefined) resolve(parse(Buffer.concat(chunks), closed, performance.now() - began));
      else reject(error);
    };
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      const so = parse(Buffer.concat(chunks), false, 0);
      const length = Number(so.headers.get("content-length") ?? Number.NaN);
      const whole = so.status >= 200 && Buffer.byteLength(so.text) >= length;
      if (whole && so.headers.get("connection") !== "close") finish(false);
    });
    socket.once("close", () => finish(true));
  });
}

function parse(bytes: Buffer, closed: boolean, ms: number): RawAnswer {
  let text = bytes.toString("utf8");
  if (text.startsWith("HTTP/1.1 100 ")) text = text.slice(text.indexOf("\r\n\r\n") + 4);
  const end = text.indexOf("\r\n\r\n");
  const [line = "", ...lines] = (end < 0 ? "" : text.slice(0, end)).split("\r\n");
  const headers = new Map(
    lines.map((header): [string, string] => {
      const colon = header.indexOf(":");
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
    }),
  );
  const content = end < 0 ? "" : text.slice(end + 4);
  return { status: Number(line.split(" ")[1] ?? 0), headers, text: content, body: jsonOf(content), closed, ms };
}

function jsonOf(text: string): RawAnswer["body"] {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
