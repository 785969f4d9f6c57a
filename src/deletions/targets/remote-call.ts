import { withTimeLimit } from "../../async/time-limit.js";
import { StartError } from "../../errors.js";
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
}

/** Default time limit of a call, ms. */
export const CALL_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;

/**
 * Posts JSON (a text is sent unchanged) and returns the result of `read` for the 2xx response. Follows no redirect.
 * Rejects with a `TargetError`.
 */
export async function postJson<T>(
  { name, token, stopping, callMs = CALL_MS }: RemoteSystem,
  url: string,
  body: object | string,
  read: (response: Response) => Promise<T>,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const call = withTimeLimit(callMs, stopping === undefined ? [] : [stopping], async (signal) => {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    if (response.ok) return read(response);
    await ignoreBody(response);
    throw new TargetError(name, `answered ${response.status}`);
  });
  return call.catch((error: unknown) => {
    if (error instanceof TargetError) throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new TargetError(name, isLate ? `timed out after ${callMs / 1000} s` : "is unreachable", error);
  });
}

/** Ends the response without its body, which may be endless. */
export async function ignoreBody(response: Response): Promise<void> {
  // Rejects when the connection has failed since.
  await response.body?.cancel().catch(() => {});
}

/** Returns the body as text; undefined when it exceeds `MAX_RESPONSE_BYTES`. */
export async function readBounded(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
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
