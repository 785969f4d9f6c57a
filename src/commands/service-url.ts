import { UsageError } from "./run-command.js";

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
