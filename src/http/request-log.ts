import type { Log } from "../log.js";
import type { Meters } from "../meters.js";
import type { ApiContext } from "./route.js";

/** Notes an answer that is out: the route's pattern, never its URL, nor who asked. */
export function noteAnswer(
  ctx: ApiContext,
  began: number,
  { log, meters }: { readonly log: Log; readonly meters: Meters },
): void {
  const ms = performance.now() - began;
  const route = ctx.state.route?.path ?? "none";
  const method = ctx.state.route === undefined ? "other" : ctx.method;
  meters.request(method, route, ctx.status, ms / 1000);
  log.debug(
    { method, route, status: ctx.status, ms: Math.round(ms * 10) / 10, requestId: ctx.state.requestId },
    "answered",
  );
}

/** What may be said of an error that nobody expected: kind and place. Its message could quote what somebody sent. */
export function describeError(error: unknown): { name: string; code: string | undefined; at: string[] } {
  if (!(error instanceof Error)) return { name: typeof error, code: undefined, at: [] };
  const at = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  const code = "code" in error ? String(error.code) : undefined;
  return { name: error.name, code, at: at.slice(0, 8).map((line) => line.trim()) };
}
