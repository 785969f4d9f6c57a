import { backoff, retry } from "../async/retry.js";
import { StartError } from "../errors.js";

/** How often a request is tried, and the longest wait between two tries. */
const TRIES = 8;
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 500;

/** An answer of a running service. */
export interface ServiceAnswer {
  readonly status: number;
  /** The JSON body; undefined when there is none. */
  readonly body: unknown;
}

export interface ServiceClientOptions {
  /** Base address of the service, as `serviceUrl` hands it out. */
  readonly url: string;
  /** API key; usually from the environment. */
  readonly key: string | undefined;
  /** Told in a line when the service is asked to wait for. */
  readonly say?: (line: string) => void;
  /** Ends what is under way. */
  readonly signal?: AbortSignal;
}

/** A running service, as a command speaks to it. */
export interface ServiceClient {
  /**
   * Posts, and tries again where that can help (429, 503, no connection), waiting as long as the service asks for. Gives
   * up with a `StartError` after some tries, and at once when the key is refused or, before its first answer, the connection. The
   * request must be safe to repeat.
   */
  post(path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>>): Promise<ServiceAnswer>;
}

export function serviceClient({ url, key, say = () => {}, signal }: ServiceClientOptions): ServiceClient {
  if (key === undefined || key === "") {
    throw new StartError("ENTITY_METRICS_KEY is not set: put an API key of the service into it");
  }
  const { origin } = new URL(url);
  let reached = false;

  return {
    async post(path, body, headers) {
      const attempt = async () => {
        const result = await send(`${url}${path}`, key, body, headers, signal);
        if (result === "refused" && !reached) {
          throw new StartError(
            `There is no service at ${origin}: start it, or name another address (--url or ENTITY_METRICS_URL)`,
          );
        }
        reached ||= result !== "refused";
        if (typeof result === "string") throw new Busy(`${origin} does not answer`);
        const { status, retryAfterMs } = result;
        if (status === 429 || status === 503) throw new Busy(`${origin} is busy (${status})`, retryAfterMs);
        return checkKey(result, origin);
      };
      const pauseAfter = (error: unknown, tried: number) => {
        if (!(error instanceof Busy)) return undefined;
        if (tried === TRIES) throw new StartError(`${error.message}; gave up after ${TRIES} tries`);
        const wait = Math.min(LONGEST_WAIT_MS, error.retryAfterMs ?? backoff(tried, FIRST_WAIT_MS, LONGEST_WAIT_MS));
        if (wait >= 1000) say(`${error.message}; trying again in ${Math.ceil(wait / 1000)} s`);
        return wait;
      };
      return retry(attempt, pauseAfter, signal === undefined ? {} : { signal });
    },
  };
}

/** The service may answer otherwise later. */
class Busy extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

interface Attempt extends ServiceAnswer {
  readonly retryAfterMs: number | undefined;
}

/** One try: the answer; `refused` when no connection was accepted or the name is unknown, `broken` when there was no whole answer. */
async function send(
  url: string,
  key: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<Attempt | "refused" | "broken"> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, Authorization: key },
      body: body as NonNullable<RequestInit["body"]>,
      redirect: "error",
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
    return { status: response.status, body: jsonOf(text), retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined };
  } catch (error) {
    if (signal?.aborted) throw error;
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    return code === "ECONNREFUSED" || code === "ENOTFOUND" ? "refused" : "broken";
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkKey(answer: ServiceAnswer, origin: string): ServiceAnswer {
  if (answer.status === 401) throw new StartError(`${origin} does not know the key in ENTITY_METRICS_KEY`);
  if (answer.status === 403)
    throw new StartError("The key in ENTITY_METRICS_KEY lacks the scope that this command needs");
  return answer;
}
