import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { endsWithTest } from "./ends-with-test.js";
import { until } from "./until.js";

/** A server program of a test's own; one that a test has started is killed after it. */
export interface Program {
  /** Id of its process. */
  pid(): number | undefined;
  /** Kills it like `kill -9`, and starts it again with its data. */
  restart(): Promise<void>;
  /** Ends it like `kill -9`. */
  kill(): Promise<void>;
  /** SIGSTOP: every connection stays open, and nothing is answered until `resume`. */
  pause(): void;
  resume(): void;
}

/** Maximum time until a program responds, ms. */
const START_MS = 60_000;

/** Starts a program that runs until it is killed. Resolves when `answers` does so with true. */
export async function startProgram(
  path: string,
  args: readonly string[],
  answers: () => Promise<boolean>,
): Promise<Program> {
  let running: ChildProcess | undefined;
  let output = "";
  const endWithThis = () => void running?.kill("SIGKILL");

  async function start(): Promise<void> {
    const child = spawn(path, [...args], { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output = `${output}${chunk}`.slice(-4000);
      });
    }
    let ended: string | undefined;
    child.once("error", (error) => {
      ended = error.message;
    });
    child.once("exit", (code, signal) => {
      ended = `${code ?? signal}`;
    });
    running = child;
    process.off("exit", endWithThis).once("exit", endWithThis);
    const looks = async () => {
      if (ended !== undefined) throw new Error(`${path} ended: ${ended}\n${output}`);
      return answers().catch(() => false);
    };
    await until(`${path} answers`, looks, START_MS);
  }

  async function kill(): Promise<void> {
    process.off("exit", endWithThis);
    if (running === undefined || running.pid === undefined || running.exitCode !== null || running.signalCode !== null)
      return;
    const gone = once(running, "exit");
    running.kill("SIGKILL");
    await gone;
  }

  try {
    await start();
  } catch (error) {
    await kill();
    throw error;
  }
  endsWithTest(kill);
  return {
    pid: () => running?.pid,
    async restart() {
      await kill();
      await start();
    },
    kill,
    pause: () => void running?.kill("SIGSTOP"),
    resume: () => void running?.kill("SIGCONT"),
  };
}
