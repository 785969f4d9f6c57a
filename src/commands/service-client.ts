import { backoff, retry } from "../async/retry.js";
import { StartError, type ValidationIssue } from "../errors.js";
import { UsageError } from "./run-command.js";

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
  /** Base address of the service, from `serviceUrl`. */
  readonly url: string;
  /** API key; usually from the environment. */
  readonly key: string | undefined;
  /** Gets a line when the service has to be waited for. */
  readonly say?: (line: string) => void;
  /** Ends what is under way. */
  readonly signal?: AbortSignal;
}

/** A running service, as a command speaks to it. */
export interface ServiceClient {
  /**
   * Sends a request, and tries again where that can help (429, 503, no connection), waiting as long as the service asks for. Gives
   * up with a `StartError` after some tries, and at once when the key is refused or, before its first answer, the connection. The
   * request must be safe to repeat.
   */
  send(method: "POST" | "PUT", path: string, body: string, headers: Headers): Promise<ServiceAnswer>;
}

type Headers = Readonly<Record<string, string>>;

export function serviceClient({ url, key, say = () => {}, signal }: ServiceClientOptions): ServiceClient {
  if (key === undefined || key === "") {
    throw new StartError("ENTITY_METRICS_KEY is not set: put an API key of the service into it");
  }
  const { origin } = new URL(url);
  let reached = false;

  return {
    async send(method, path, body, headers) {
      const init = {
        method,
        body,
        headers: { ...headers, Authorization: key },
        ...(signal === undefined ? {} : { signal }),
      };
      const attempt = async () => {
        const result = await tryOnce(`${url}${path}`, init);
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
async function tryOnce(url: string, init: RequestInit): Promise<Attempt | "refused" | "broken"> {
  try {
    const response = await fetch(url, { ...init, redirect: "error" });
    const text = await response.text();
    const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
    return { status: response.status, body: jsonOf(text), retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined };
  } catch (error) {
    if (init.signal?.aborted) throw error;
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

/** The issues that an answer names. */
export function issuesOf({ body }: ServiceAnswer): ValidationIssue[] {
  const errors = (body as { errors?: unknown } | undefined)?.errors;
  return Array.isArray(errors) ? errors : [];
}

/** An answer that ends the command. */
export function unexpected(answer: ServiceAnswer): StartError {
  const { message } = (answer.body ?? {}) as { message?: unknown };
  const reason = String(issuesOf(answer)[0]?.message ?? message ?? "it does not say why");
  return new StartError(`The service answered ${answer.status}: ${reason}`);
}

/** Help of the option `--url`. */
export const URL_HELP =
  "where the service is (default: ENTITY_METRICS_URL, else http://127.0.0.1:$PORT, 8080 without PORT)";

/** Base address of the service, without a slash at its end: what the option says, else ENTITY_METRICS_URL, else PORT of this machine. */
export function serviceUrl(
  option: string | undefined,
  { ENTITY_METRICS_URL, PORT }: Readonly<Record<string, string | undefined>>,
): string {
  const [name, url] =
    option !== undefined ? ["--url", option] : ["ENTITY_METRICS_URL", ENTITY_METRICS_URL || localUrl(PORT || "8080")];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new UsageError(`${name} is not an http address`);
  return url.replace(/\/+$/, "");
}

function localUrl(port: string): string {
  if (/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536) return `http://127.0.0.1:${port}`;
  throw new UsageError("PORT does not tell where the service is: name it with --url or ENTITY_METRICS_URL");
}
