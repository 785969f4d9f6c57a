/** How a client reaches the service. */
export interface ClientOptions {
  /** Base address, such as `https://metrics.example.com`; what stands behind a path prefix is reached with it. */
  readonly url: string;
  /** API key, or what hands it out for each request; without one only keyless routes answer. */
  readonly key?: string | (() => string | undefined);
  /** How often a request is sent at most when the service is busy (429, 503) or not reached; 5 when absent, 1 never repeats. */
  readonly tries?: number;
  /** Longest wait between two tries, ms; 30,000 when absent. A longer `Retry-After` of the service ends the tries. */
  readonly longestWaitMs?: number;
  /** Gets why a request failed and the wait until it is sent again, ms; what it throws ends the tries and rejects the call. */
  readonly onRetry?: (error: ApiError | NotReached, waitMs: number) => void;
  /** What sends; the platform's `fetch` when absent. */
  readonly fetch?: typeof fetch;
}

/** What can be said for one call. */
export interface CallOptions {
  /** Ends the request, its waits and its stream; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One thing that is wrong with a request: where, for programs, and for people. */
export interface Issue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** The service answered, and not with a success. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly status: number;
  readonly issues: readonly Issue[];
  /** `X-Request-Id` of the response, by which the service's log names the request; undefined when it has none. */
  readonly requestId: string | undefined;
  /** When the service wants to be asked again, ms from its response; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  /** `data` beside the errors, where a route gives some. */
  readonly data: unknown;

  constructor(status: number, headers: Headers, body: unknown) {
    const { message, errors, data } = (body ?? {}) as { message?: string; errors?: Issue[]; data?: unknown };
    super(errors?.[0]?.message ?? message ?? `The service answered ${status}`);
    this.status = status;
    this.issues = errors ?? [];
    this.requestId = headers.get("x-request-id") ?? undefined;
    const seconds = Number(headers.get("retry-after") ?? Number.NaN);
    this.retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
    this.data = data ?? undefined;
  }
}

/** The service was not reached, or its response broke off. `cause` is what the platform says. */
export class NotReached extends Error {
  override readonly name = "NotReached";
}

export interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** From the base address on, with its query. */
  readonly path: string;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** Whether it is not sent again, whatever comes of it. */
  readonly once?: boolean;
  /** Whether the body is handed out as it comes; otherwise it is read first, and a response that breaks off is asked for again. */
  readonly stream?: boolean;
}

export type Send = (sent: Sent, options?: CallOptions) => Promise<Response>;

/**
 * Sends requests that are safe to repeat, again when the service is busy or not reached: after `Retry-After`, or else after waits that
 * double, of which a random half is left out (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). Rejects
 * with `ApiError` for every status that is no success, with `NotReached`, and with a `TypeError` for a key that no header can carry.
 */
export function sender({
  url,
  key,
  tries = 5,
  longestWaitMs = 30_000,
  onRetry = () => {},
  fetch: ask = fetch,
}: ClientOptions): Send {
  const base = url.replace(/\/+$/, "");
  return async ({ method, path, type, body, headers, accept = "application/json", once, stream }, { signal } = {}) => {
    for (let tried = 1; ; tried++) {
      const held = typeof key === "function" ? key() : key;
      if (/[^\t -~\u0080-\u00ff]/.test(held ?? "")) throw new TypeError("The key holds a character that no header has");
      const init: RequestInit = {
        method,
        headers: {
          accept,
          ...(held === undefined ? {} : { authorization: held }),
          ...(type === undefined ? {} : { "content-type": type }),
          ...headers,
        },
        redirect: "error",
        ...(body === undefined ? {} : { body: body as NonNullable<RequestInit["body"]> }),
        ...(signal === undefined ? {} : { signal }),
      };
      const outcome = await ask(`${base}${path}`, init)
        .then((response) => accepted(response, stream === true))
        .catch((error) => {
          if (signal?.aborted) throw signal.reason;
          return new NotReached(`No response from ${base}`, { cause: error });
        });
      if (outcome instanceof Response) return outcome;
      const wait = waitAfter(outcome, tried, longestWaitMs);
      if (once === true || tried >= tries || wait === undefined || wait > longestWaitMs) throw outcome;
      onRetry(outcome, wait);
      await pause(wait, signal);
    }
  };
}

async function accepted(response: Response, stream: boolean): Promise<Response | ApiError> {
  if (response.ok) return stream || response.body === null ? response : new Response(await response.blob(), response);
  return new ApiError(response.status, response.headers, await response.json().catch(() => undefined));
}

/** ms until the next try; undefined when another one cannot help. */
function waitAfter(error: ApiError | NotReached, tried: number, longestWaitMs: number): number | undefined {
  if (error instanceof ApiError) {
    const { status, retryAfterMs } = error;
    if (status !== 429 && status !== 503) return undefined;
    if (retryAfterMs !== undefined) return retryAfterMs;
  }
  const most = Math.min(longestWaitMs, 500 * 2 ** (tried - 1));
  return most / 2 + Math.random() * (most / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
