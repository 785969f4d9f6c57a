import { type Command, CommanderError } from "commander";
import { StartError } from "../errors.js";

/** Exit code of a command that did its work but for what it rejected. */
export const REJECTED = 3;

/** Exit code of a command that was interrupted. */
export const INTERRUPTED = 130;

/** The command was called in a way that it does not know: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command was asked to stop before it was done: exit code 130. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}

/** Calls `stop` when the process is asked to end; a terminal and npm may send several signals. */
export function onInterrupt(stop: () => void): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
}

/**
 * Runs a command on the arguments of this process and sets its exit code: what its action returns (0 done, `REJECTED`), 1 when
 * it failed, 2 for wrong usage, `INTERRUPTED`. What went wrong is one line on stderr.
 */
export async function runCommand(
  command: Command,
  action: () => Promise<number>,
  argv: readonly string[] = process.argv,
): Promise<void> {
  command.exitOverride().showHelpAfterError("(--help says more)");
  try {
    let code = 0;
    await command
      .action(async () => {
        code = await action();
      })
      .parseAsync(argv);
    process.exitCode = code;
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    if (error instanceof CommanderError) return;
    const known = [UsageError, StartError, InterruptedError].some((kind) => error instanceof kind);
    process.stderr.write(`${error instanceof Error ? (known ? error.message : error.stack) : error}\n`);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof InterruptedError) return INTERRUPTED;
  return error instanceof UsageError ? 2 : 1;
}
