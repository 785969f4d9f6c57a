import { type Logger, pino } from "pino";

/** Structured logs. They never contain an identity, attribute, key or URL of a request (a route pattern is allowed). */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** A logger that writes JSON lines to stderr. */
export function openLog(level: string): Log {
  const serializers = { err: described };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, stderrLines());
}

/** Writes lines to stderr. A line that cannot be written, as on a full disk, is dropped, and the process continues. */
function stderrLines(): { write(line: string): void } {
  const open = () => {
    const opened = pino.destination({ dest: 2, sync: true });
    // The stream would keep the line, and each following one.
    opened.on("error", () => {
      lines = open();
    });
    return opened;
  };
  let lines = open();
  return { write: (line) => void lines.write(line) };
}

/**
 * Returns the loggable part of an error: its message and stack, and the same of its causes. A driver may attach what it
 * has sent: the arguments of a command, including a password.
 */
function described(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause, code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? {} : { code: String(code) };
  return { type: name, message, ...known, stack, ...(cause === undefined ? {} : { cause: described(cause) }) };
}
