// Runs a Node program in place of this process: its output, signals and exit code are passed on.
import { spawn } from "node:child_process";

/**
 * Resolves with the exit code of `node ...args`. `onMessage` receives the child's messages. `onOutput` receives its
 * output, which is otherwise this process's. SIGINT and SIGTERM are passed on, and the child is killed after `timeout`
 * milliseconds. When this process is killed, the child notices the end of its IPC channel.
 */
export function runChild(args, { env = {}, onMessage = () => {}, onOutput, timeout } = {}) {
  const output = onOutput === undefined ? "inherit" : "pipe";
  const child = spawn(process.execPath, args, {
    stdio: ["inherit", output, output, "ipc"],
    env: { ...process.env, ...env },
    timeout,
    killSignal: "SIGKILL",
  });
  child.on("message", onMessage);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", onOutput);
  const stop = (signal) => child.kill(signal);
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      resolve(code ?? 1);
    });
  });
}
