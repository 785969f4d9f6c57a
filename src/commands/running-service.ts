import { type Client, createClient, NotReached } from "../client/client.js";
import { StartError } from "../errors.js";
import { UsageError } from "./run-command.js";

/** How often a request is tried, and the longest wait between two tries. */
const TRIES = 8;
const LONGEST_WAIT_MS = 120_000;

/** A wait that is worth a line, ms. */
const WORTH_A_LINE_MS = 1_000;

/** A client of the service at `url`; without a key it asks keyless routes alone. `say` gets a line when the service has to be waited for. */
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
    longestWaitMs: LONGEST_WAIT_MS,
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
            ? `${origin} leads to another address: name that one (--url or ENTITY_METRICS_URL)`
            : `There is no service at ${origin}: start it, or name another address (--url or ENTITY_METRICS_URL)`,
        );
      }
      if (waitMs < WORTH_A_LINE_MS) return;
      const why = error instanceof NotReached ? "does not answer" : `is busy (${error.status})`;
      say(`${origin} ${why}; trying again in ${Math.ceil(waitMs / 1000)} s`);
    },
  });
}

/** The key of the environment. Throws a `StartError` where there is none, or one that no request can carry. */
export function requireKey(key: string | undefined): string {
  const held = key?.trim() ?? "";
  if (/[^ -~]/.test(held)) throw new StartError("ENTITY_METRICS_KEY holds a character that no API key has");
  if (held !== "") return held;
  throw new StartError("ENTITY_METRICS_KEY is not set: put an API key of the service into it");
}

/** Whether no connection was accepted, the name is unknown, or the platform does not connect to such a port (its error has no code). */
function isNoService(error: Error): boolean {
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === undefined || code === "ECONNREFUSED" || code === "ENOTFOUND";
}

/** Whether the platform was led to another address, where it does not take the key to. */
function isRedirect({ cause }: Error): boolean {
  return cause instanceof Error && cause.cause instanceof Error && cause.cause.message === "unexpected redirect";
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
  if (/[?#]/.test(url) || parsed.username !== "" || parsed.password !== "")
    throw new UsageError(`${name} is an address with a user, a query or a fragment, which are not sent`);
  return url.replace(/\/+$/, "");
}

function localUrl(port: string): string {
  if (/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536) return `http://127.0.0.1:${port}`;
  throw new UsageError("PORT does not tell where the service is: name it with --url or ENTITY_METRICS_URL");
}
