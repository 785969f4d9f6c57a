import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartError } from "../errors.js";
import type { Settings } from "./settings.js";

/** Where the very first key can be found: on the terminal, once, or in a file. */
export type FirstKey = { readonly shown: string } | { readonly file: string };

/** Keeps a key for a reader who is not at a terminal: the file `first-key` of the folder, for its owner alone, in one step. */
export function keepInFile(dir: string, key: string): FirstKey {
  const file = join(resolve(dir), "first-key");
  const handle = openSync(`${file}.new`, "w", 0o600);
  writeSync(handle, `${key}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.new`, file);
  return { file };
}

/** What a first start prints: where the key is, and three commands that work as they are pasted. */
export function firstLines(listens: string, key: FirstKey): string {
  const address = reachable(listens);
  const place = "shown" in key ? `Your API key, shown this once:\n  ${key.shown}` : `Your API key is in ${key.file}`;
  const header = "shown" in key ? `-H 'Authorization: ${key.shown}'` : `-H "Authorization: $(cat ${quoted(key.file)})"`;
  return `
${place}

Write a point, the size of a segment now:
  curl -i '${address}/api/v2/write' ${header} -H 'Content-Type: text/plain' --data-binary 'segment,dimension_id=hello value=42'

Read it back:
  curl '${address}/api/metric?dimension=segment&dimension_id=hello&dimension_type=size&range=4h' ${header}

Look around, or open ${address}/dashboard or ${address}/docs in a browser:
  curl '${address}/'
`;
}

/** Where a service that listens on every address of this machine can be reached from it. */
function reachable(address: string): string {
  return address.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, "//127.0.0.1");
}

/** A path in single quotes, as a shell reads them. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

/** Why a start failed, in one line and without a secret. */
export function startErrorText(error: unknown, settings: Pick<Settings, "http"> | undefined): string {
  if (error instanceof StartError) return oneLine(error.message);
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const place = settings === undefined ? "" : `${settings.http.host}:${settings.http.port}`;
  if (code === "EADDRINUSE")
    return `Port ${settings?.http.port} is taken on ${settings?.http.host}: stop what listens there, or set PORT to another`;
  if (code === "EACCES" && syscall === "listen")
    return `Listening on ${place} is not allowed: set PORT to 1024 or above`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${settings?.http.host} is not an address of this machine: set HOST to one that is`;
  return `entity-metrics cannot start: ${oneLine(message ?? String(error))}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ");
}
