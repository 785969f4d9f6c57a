import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartError } from "../errors.js";
import type { Settings } from "./settings.js";

/** Location of the first key: shown once on the terminal, or in a file. */
export type FirstKey = { readonly shown: string } | { readonly file: string };

/**
 * Writes the key for a reader without a terminal to the file `first-key` in the folder, readable only by its owner,
 * atomically.
 */
export function keepInFile(dir: string, key: string): FirstKey {
  const file = join(resolve(dir), "first-key");
  const handle = openSync(`${file}.new`, "w", 0o600);
  writeSync(handle, `${key}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.new`, file);
  return { file };
}

/**
 * Returns the output of a first start: the key, commands that work when pasted, and on a terminal a link that opens the
 * dashboard signed in, with a code from `signInCode`.
 */
export function firstLines(listens: string, key: FirstKey, signInCode: (key: string) => string): string {
  const address = reachable(listens);
  const place = "shown" in key ? `Your API key, shown this once:\n  ${key.shown}` : `Your API key is in ${key.file}`;
  const header = "shown" in key ? `-H 'Authorization: ${key.shown}'` : `-H "Authorization: $(cat ${quoted(key.file)})"`;
  const link =
    "shown" in key
      ? `\nOpen the dashboard, signed in; the link works once, within 15 minutes:\n  ${address}/dashboard#code=${signInCode(key.shown)}\n`
      : "";
  return `
${place}
${link}
Write a point, the size of a segment now:
  curl -i '${address}/api/v2/write' ${header} -H 'Content-Type: text/plain' --data-binary 'segment,dimension_id=hello value=42'

Read it back:
  curl '${address}/api/metric?dimension=segment&dimension_id=hello&dimension_type=size&range=4h' ${header}

Look around, or open ${address}/dashboard or ${address}/docs in a browser:
  curl '${address}/'
`;
}

/** Returns a local address for a service that listens on all addresses. */
function reachable(address: string): string {
  return address.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, "//127.0.0.1");
}

/** Quotes a path for a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

/** Describes a failed start in one line without secrets. */
export function startErrorText(error: unknown, settings: Pick<Settings, "http"> | undefined): string {
  if (error instanceof StartError) return oneLine(error.message);
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const place = settings === undefined ? "" : `${settings.http.host}:${settings.http.port}`;
  if (code === "EADDRINUSE")
    return `Port ${settings?.http.port} is in use on ${settings?.http.host}: stop what listens there, or set PORT to another`;
  if (code === "EACCES" && syscall === "listen")
    return `Listening on ${place} is not allowed: set PORT to 1024 or above`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${settings?.http.host} is not an address of this machine: set HOST to one that is`;
  return `entity-metrics cannot start: ${oneLine(message ?? String(error))}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ");
}
