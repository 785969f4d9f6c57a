import type { Settings } from "./config.js";
import { StartError } from "./errors.js";

/** Why a start failed, in one line and without a secret. */
export function startFailure(error: unknown, settings: Pick<Settings, "http"> | undefined): string {
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
