import { type Command, CommanderError } from "commander";
import { StartError } from "../errors.js";

/** The command was called in a way that it does not know: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Runs a command on the arguments of this process and sets its exit code: what its action returns (0 done, 1 something was
 * rejected), 1 when it failed, 2 for wrong usage. What went wrong is one line on stderr.
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
    const known = error instanceof UsageError || error instanceof StartError;
    process.stderr.write(`${known ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof UsageError ? 2 : 1;
}
