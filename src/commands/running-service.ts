import { type Client, createClient, NotReached } from "../client/client.js";
import { StartError } from "../errors.js";
import { UsageError } from "./run-command.js";

/** Maximum tries of a request, and maximum wait between two tries, ms. */
const TRIES = 8;
const MAX_WAIT_MS = 120_000;

/** Minimum wait that is reported, ms. */
const WORTH_A_LINE_MS = 1_000;

/**
 * Creates a client of the service at `url`; without a key it can call only keyless routes. `say` receives a line when
 * the service is waited for.
 */
export function serviceClient(
  url: string,
  key: string | undefined,
  say = (line: string): unknown => process.stderr.write(`${line}\n`),
): Client {
  const { origin } = new URL(url);
  let reached = false;
  return createClient({
    url,
    key: () => key,
    tries: TRIES,
    longestWaitMs: MAX_WAIT_MS,
    async fetch(input, init) {
      const response = await fetch(input, init).catch((error) => {
        reached ||= !isNoService(error);
        throw error;
      });
      reached = true;
      return response;
    },
    onRetry(error, waitMs) {
      if (!reached) {
        throw new StartError(
          isRedirect(error)
            ? `${origin} redirects to another address: use that one (--url or ENTITY_METRICS_URL)`
            : `There is no service at ${origin}: start it, or set another address (--url or ENTITY_METRICS_URL)`,
        );
      }
      if (waitMs < WORTH_A_LINE_MS) return;
      const why = error instanceof NotReached ? "is unreachable" : `is busy (${error.status})`;
      say(`${origin} ${why}; retrying in ${Math.ceil(waitMs / 1000)} s`);
    },
  });
}

/** Returns the key from the environment. Throws a `StartError` when it is missing or no request can carry it. */
export function requireKey(key: string | undefined): string {
  const held = key?.trim() ?? "";
  if (/[^ -~]/.test(held)) throw new StartError("ENTITY_METRICS_KEY contains a character that no API key has");
  if (held !== "") return held;
  throw new StartError("ENTITY_METRICS_KEY is not set: put an API key of the service into it");
}

/**
 * Returns whether no service listens: the connection was refused, the name is unknown, or the platform blocks the port
 * (an error without a code).
 */
function isNoService(error: Error): boolean {
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === undefined || code === "ECONNREFUSED" || code === "ENOTFOUND";
}

/** Returns whether the platform refused a redirect, which would take the key to another address. */
function isRedirect({ cause }: Error): boolean {
  return cause instanceof Error && cause.cause instanceof Error && cause.cause.message === "unexpected redirect";
}

/** Help of the option `--url`. */
export const URL_HELP =
  "address of the service (default: ENTITY_METRICS_URL, else http://127.0.0.1:$PORT, 8080 without PORT)";

/**
 * Returns the base address of the service without a trailing slash: from the option, else ENTITY_METRICS_URL, else PORT
 * on this machine.
 */
export function serviceUrl(
  option: string | undefined,
  { ENTITY_METRICS_URL, PORT }: Readonly<Record<string, string | undefined>>,
): string {
  const [name, url] =
    option !== undefined ? ["--url", option] : ["ENTITY_METRICS_URL", ENTITY_METRICS_URL || localUrl(PORT || "8080")];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new UsageError(`${name} must be an address such as http://127.0.0.1:8080`);
  if (/[?#]/.test(url) || parsed.username !== "" || parsed.password !== "")
    throw new UsageError(`${name} is an address with a user, a query or a fragment, which are not sent`);
  return url.replace(/\/+$/, "");
}

function localUrl(port: string): string {
  if (/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536) return `http://127.0.0.1:${port}`;
  throw new UsageError("PORT is not a port: set the address of the service with --url or ENTITY_METRICS_URL");
}
