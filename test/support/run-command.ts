import { readFileSync } from "node:fs";
import { expect } from "chai";
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

/** Wrong arguments of a command: what is wrong, the arguments, the exit code and the message. */
export type WrongArguments = readonly [what: string, args: () => string[], code: number, message: RegExp];

/** A test of each of these: the command ends with the code and the message, and without output or a stack. */
export function itRefuses(run: (args: string[]) => Promise<CommandResult>, wrong: readonly WrongArguments[]): void {
  for (const [what, args, expected, message] of wrong) {
    it(`ends with ${expected}, a message and no output for ${what}`, async () => {
      const { code, out, err } = await run(args());
      expect({ code, out }, err).to.deep.equal({ code: expected, out: "" });
      expect(err)
        .to.match(message)
        .and.not.match(/\n\s+at /);
    });
  }
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
