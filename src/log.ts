import { type Logger, pino } from "pino";

/** Structured logs. No identity, attribute, key or URL of a request is ever handed to one (a route pattern is). */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** A logger that writes JSON lines to stderr. */
export function openLog(level: string): Log {
  const serializers = { err: described };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, stderrLines());
}

/** Writes lines to stderr. One that cannot be written, as on a full disk, is lost, and the process goes on. */
function stderrLines(): { write(line: string): void } {
  const open = () => {
    const opened = pino.destination({ dest: 2, sync: true });
    // It would keep the line, and each that comes after it.
    opened.on("error", () => {
      lines = open();
    });
    return opened;
  };
  let lines = open();
  return { write: (line) => void lines.write(line) };
}

/**
 * What a log says of an error: its words, its place, and the same of its causes. What else a driver hangs on an error may be what it
 * has sent: the arguments of a command, a password among them.
 */
function described(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause, code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? {} : { code: String(code) };
  return { type: name, message, ...known, stack, ...(cause === undefined ? {} : { cause: described(cause) }) };
}
