import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { type Command, CommanderError } from "commander";
import { ApiError, NotReached } from "../client/client.js";
import { StartError } from "../errors.js";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

/**
 * Whether this runs in a clone. An installed package has no sources; its help replaces `npm run key --` by
 * `entity-metrics key`.
 */
const isClone = existsSync(new URL("../../src", import.meta.url));

/** Exit code of a command that succeeded except for rejections. */
export const REJECTED = 3;

/** Exit code of a command that was interrupted. */
export const INTERRUPTED = 130;

/** Wrong usage: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Interrupted before the end: exit code 130. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}

/** Calls `stop` on SIGINT, SIGTERM and SIGHUP; a terminal and npm may send several. */
export function onInterrupt(stop: () => void): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
}

/**
 * Runs a command with this process's arguments and sets the exit code: the result of its action (0 or `REJECTED`), 1 on
 * failure, 2 for wrong usage, `INTERRUPTED`. Errors are one line on stderr.
 */
export async function runCommand(command: Command, action: () => Promise<number>): Promise<void> {
  command
    .exitOverride()
    .version(version, "--version", "version of entity-metrics")
    .showHelpAfterError("(--help shows more)")
    .configureOutput({
      writeOut(help) {
        isHelp = true;
        process.stdout.write(isClone ? help : help.replaceAll(/npm run (\w+) --/g, "entity-metrics $1"));
      },
    });
  let isHelp = false;
  let unwritten: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error) => {
    // Ignores a pipe closed during help output, as `head` does.
    if (isHelp && error.code === "EPIPE") return;
    if (unwritten === undefined) process.stderr.write(`stdout cannot be written (${error.code})\n`);
    unwritten ??= error;
    process.exitCode = 1;
  });
  // Continue when stderr cannot be written.
  process.stderr.on("error", () => {});
  try {
    let code = 0;
    await command
      .action(async () => {
        code = await action();
      })
      .parseAsync();
    process.exitCode = unwritten === undefined ? code : 1;
  } catch (thrown) {
    const error = inWords(thrown);
    process.exitCode = exitCodeOf(error);
    if (error instanceof CommanderError || thrown === unwritten) return;
    const known = [UsageError, StartError, InterruptedError].some((kind) => error instanceof kind);
    process.stderr.write(`${error instanceof Error ? (known ? error.message : error.stack) : error}\n`);
  }
}

/** Writes to stdout and resolves when the text is written. Rejects on an error, which `runCommand` reports. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once("error", reject);
    process.stdout.write(text, (error) => {
      // The stream also emits the error as an event.
      if (error) return;
      process.stdout.off("error", reject);
      resolve();
    });
  });
}

/** Converts errors of the service or the system to a message for people; returns other errors unchanged. */
export function inWords(error: unknown): unknown {
  if (isOfSystem(error) || error instanceof NotReached) return new StartError(error.message, { cause: error });
  if (!(error instanceof ApiError)) return error;
  return new StartError(messageOf(error), { cause: error });
}

/** Whether Node or SQLite reports an error of the machine. */
function isOfSystem(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return "syscall" in error || ("code" in error && error.code === "ERR_SQLITE_ERROR");
}

function messageOf({ status, message, issues }: ApiError): string {
  if ((status === 401 || status === 403) && issues.length > 0) return `ENTITY_METRICS_KEY: ${message}`;
  if (status === 429 || status === 503) return `The service is busy (${status}); gave up`;
  return `The service answered ${status}${issues.length === 0 ? "" : `: ${message}`}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof InterruptedError) return INTERRUPTED;
  return error instanceof UsageError ? 2 : 1;
}
