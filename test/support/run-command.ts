import { readFileSync } from "node:fs";
import { runs, startChild } from "./child-service.js";
import { adminKey } from "./service.js";

/** Exit code and output of a command. */
export interface CommandResult {
  readonly code: number | NodeJS.Signals;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of `src/commands` to its end, with a key in its environment. */
export async function runToEnd(
  name: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<CommandResult> {
  const { ended, out, err } = startCommand(name, args, environment);
  return { code: await ended, out: out(), err: err() };
}

/** Lines of a file that a command wrote for `--rejects`. */
export function rejectionsIn(path: string): { file?: string; line: number; code: string; message: string }[] {
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "") throw new Error(`${path} does not end with a whole line`);
  return lines.map((line) => JSON.parse(line));
}

/** Starts a command of `src/commands`, with a key in its environment. */
export function startCommand(name: string, args: readonly string[], environment: Record<string, string> = {}) {
  return startChild({ ENTITY_METRICS_KEY: adminKey, ...environment }, [...runs(`commands/${name}`), ...args]);
}
