import { spawn, spawnSync } from "node:child_process";
import { endsWithTest } from "./ends-with-test.js";

export interface ShellOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** At a terminal, as a person would; otherwise output goes to a pipe. */
  readonly terminal?: boolean;
}

/** A service that commands in a shell have started; it ends after the test that has run them. */
export interface ShellService {
  readonly address: string;
  /** Its output so far. */
  output(): string;
  /** Ends it, at a terminal by Ctrl-C; returns the exit code of the shell, null if a signal ended it. */
  stop(): Promise<number | null>;
}

/** Whether this machine has the program that makes a terminal for another: `script` of util-linux. */
export const hasTerminals = /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "");

/** Runs commands until the service that they start listens; rejects with their output when they end before. */
export async function startInShell(
  commands: string,
  { cwd, env, terminal = false }: ShellOptions,
): Promise<ShellService> {
  const [program, args] = terminal ? ["script", ["-qefc", commands, "/dev/null"]] : ["sh", ["-ec", commands]];
  // A group of its own, as the shell and npm start others.
  const shell = spawn(program, args, { cwd, env, detached: true });
  const ended = new Promise<number | null>((resolve) => shell.once("close", resolve));
  let output = "";
  shell.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const address = await new Promise<string>((resolve, reject) => {
    shell.stdout.on("data", (chunk) => {
      output += chunk;
      const listens = /listens on (http\S+)\r?\n/.exec(output)?.[1];
      if (listens !== undefined) resolve(listens);
    });
    shell.once("close", () => reject(new Error(`the service did not start: ${output}`)));
  });
  const stop = () => {
    if (shell.exitCode !== null) return ended;
    if (terminal) shell.stdin.end("\u0003");
    else process.kill(-(shell.pid ?? 0), "SIGTERM");
    return ended;
  };
  return { address, output: () => output, stop: endsWithTest(stop) };
}
