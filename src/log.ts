import { type Logger, pino } from "pino";

/** Structured logs. No identity, attribute, key or URL of a request is ever handed to one (a route pattern is). */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** A logger that writes JSON lines to stderr. */
export function openLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
