import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { TLSSocket } from "node:tls";
import { withTimeLimit } from "../../async/time-limit.js";
import { ServiceError, StartError } from "../../errors.js";
import { TargetError } from "../ports.js";

/** Another system that is called over HTTP. */
export interface RemoteSystem {
  /** Name in failures. */
  readonly name: string;
  readonly token: string;
  /** Aborts calls in progress. */
  readonly stopping?: AbortSignal | undefined;
  /** Time limit of a call, ms. */
  readonly callMs?: number | undefined;
  /** Limits calls at once: further ones wait for a connection, within their time. */
  readonly agent?: http.Agent;
}

/** Default time limit of a call, ms. */
export const CALL_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;

/** A JSON text, and headers that belong to it. */
export interface Made {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Opens a connection, posts what `make` returns then, so that it is sent at once however long the connection took, and
 * returns the result of `read` for the 2xx response; sends nothing for undefined. Follows no redirect. Rejects with a
 * `TargetError`, or with the `ServiceError` of `make`.
 */
export async function post<T>(
  { name, token, stopping, callMs = CALL_MS, agent }: RemoteSystem,
  url: string,
  make: () => Promise<Made | undefined>,
  read: (response: http.IncomingMessage) => Promise<T>,
): Promise<T | undefined> {
  const call = withTimeLimit(callMs, stopping === undefined ? [] : [stopping], async (signal) => {
    const { request: open } = url.startsWith("https:") ? https : http;
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const request = open(url, { method: "POST", signal, headers, agent });
    const failed = once(request, "close").then(() => {
      throw new Error("the connection was closed");
    });
    failed.catch(() => {});
    try {
      await Promise.race([connected(request), failed]);
      const made = await make();
      if (made === undefined) return undefined;
      for (const [header, value] of Object.entries(made.headers ?? {})) request.setHeader(header, value);
      request.end(made.body);
      const [response] = (await Promise.race([once(request, "response"), failed])) as [http.IncomingMessage];
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode > 299) throw new TargetError(name, `answered ${statusCode}`);
      return await read(response);
    } finally {
      // A body that was not read may be endless.
      request.on("error", () => {}).destroy();
    }
  });
  return call.catch((error: unknown) => {
    throw error instanceof ServiceError ? error : targetError(name, callMs, error);
  });
}

/** Resolves when bytes of the request would be sent at once. */
async function connected(request: http.ClientRequest): Promise<void> {
  const [socket] = await once(request, "socket");
  if (request.reusedSocket) return;
  await once(socket, socket instanceof TLSSocket ? "secureConnect" : "connect");
}

function targetError(name: string, callMs: number, error: unknown): TargetError {
  if (error instanceof TargetError) return error;
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return new TargetError(name, isLate ? `timed out after ${callMs / 1000} s` : "is unreachable", error);
}

/** Does not read the body of a response. */
export async function ignoreBody(): Promise<void> {}

/** Returns the body as text; undefined when it exceeds `MAX_RESPONSE_BYTES`. */
export async function readBounded(response: http.IncomingMessage): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes = chunk as Uint8Array;
    size += bytes.byteLength;
    if (size > MAX_RESPONSE_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Throws a `StartError` when the address is not safe: only this machine is called without TLS. The error begins with
 * `subject`, the setting.
 */
export function checkUrl(subject: string, url: string): void {
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  const https = parsedUrl?.protocol === "https:";
  const local = parsedUrl?.protocol === "http:" && isLoopback(parsedUrl.hostname);
  if (!https && !local) throw new StartError(`${subject} needs an https URL (http on this machine only)`);
  if (parsedUrl.username !== "" || parsedUrl.password !== "")
    throw new StartError(`${subject} has a user name or password in its URL, which is not supported`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
