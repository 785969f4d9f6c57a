/** Connection options of a client. */
export interface ClientOptions {
  /** Base address, such as `https://metrics.example.com`, including a path prefix if there is one. */
  readonly url: string;
  /** API key, or a function that returns it for each request; without one only keyless routes work. */
  readonly key?: string | (() => string | undefined);
  /** Maximum tries of a request while the service is busy (429, 503) or unreachable. Default 5; 1 never retries. */
  readonly tries?: number;
  /** Maximum wait between two tries, ms. Default 30,000. A longer `Retry-After` ends the tries. */
  readonly longestWaitMs?: number;
  /**
   * Called with the error and the wait before each retry, ms. An error that it throws ends the tries and rejects the
   * call.
   */
  readonly onRetry?: (error: ApiError | NotReached, waitMs: number) => void;
  /** Function that sends requests. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the request, its waits and its stream; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One issue of a request: code for programs, path, and message for people. */
export interface Issue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** An error response of the service. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly status: number;
  readonly issues: readonly Issue[];
  /** `X-Request-Id` of the response, as in the service's log; undefined without one. */
  readonly requestId: string | undefined;
  /** `Retry-After` of the response, ms; undefined without one. */
  readonly retryAfterMs: number | undefined;
  /** `data` of the error, on routes that return some. */
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

/** The service was unreachable, or its response was aborted. `cause` is the platform's error. */
export class NotReached extends Error {
  override readonly name = "NotReached";
}

export interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query after the base address. */
  readonly path: string;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** Whether the request is never retried. */
  readonly once?: boolean;
  /** Whether the body is streamed. Otherwise it is read completely, and an aborted response is requested again. */
  readonly stream?: boolean;
}

export type Send = (sent: Sent, options?: CallOptions) => Promise<Response>;

/**
 * Sends requests that are safe to repeat, and retries them while the service is busy or unreachable: after
 * `Retry-After`, otherwise after doubling waits with random jitter of half their length
 * (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). Rejects with `ApiError` for every error
 * status, with `NotReached`, and with a `TypeError` for a key that no header can carry.
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
      // `fetch` adds a listener that only garbage collection removes: a signal of many calls would have thousands.
      const own = signal === undefined ? {} : { signal: AbortSignal.any([signal]) };
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
        ...own,
      };
      const answer = ask(`${base}${path}`, init).then((response) => accepted(response, stream === true));
      const outcome = await untilAborted(answer, signal).catch((error) => {
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

/**
 * Settles as `work` does, or rejects when the signal aborts: `fetch` of Node 20 may leave a body pending then, if the
 * process waits for nothing else.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Returns the ms until the next try; undefined when a retry cannot help. */
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
