import { ApiError, NotReached } from "../../client/client.js";
import type { View, ViewScript } from "../view.js";

/** Time limit of a load, ms. */
const LOAD_TIMEOUT_MS = 30_000;

/** A view whose script cannot be loaded. */
class ScriptMissing extends Error {}

/** Returns a signal that also aborts when a load has taken too long. */
export function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(LOAD_TIMEOUT_MS)]);
}

/** Loads the script of a view. Rejects with `ScriptMissing`, or with the reason of the signal. */
export function loadScript(view: View, signal: AbortSignal): Promise<ViewScript<unknown>> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    view.script().then(resolve, (cause) => reject(new ScriptMissing("script", { cause })));
  });
}

/** Returns why a load failed, as a sentence. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof NotReached) return "The service is unreachable.";
  if (error instanceof ScriptMissing) return "A script of this page was not loaded: reload the page.";
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `The service did not respond within ${LOAD_TIMEOUT_MS / 1000} s.`;
  return `This page failed: ${error}`;
}
