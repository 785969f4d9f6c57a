// Runs a program in place of this one: its output is ours, signals go to it, its exit code is ours.
import { spawn } from "node:child_process";

/**
 * Resolves with the exit code of `node ...args`; `onMessage` gets what the child sends, and `onOutput` what it writes, which is ours otherwise. SIGINT
 * and SIGTERM are handed on; the child notices by its IPC channel when this process is gone, and is stopped when npm, which started us, is gone.
 */
export function runChild(args, { env = {}, onMessage = () => {}, onOutput } = {}) {
  const output = onOutput === undefined ? "inherit" : "pipe";
  const child = spawn(process.execPath, args, {
    stdio: ["inherit", output, output, "ipc"],
    env: { ...process.env, ...env },
  });
  child.on("message", onMessage);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", onOutput);
  const stop = (signal) => child.kill(signal);
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const watch = process.env.npm_lifecycle_event === undefined ? undefined : watchParent(() => stop("SIGTERM"));
  return new Promise((resolve) => {
    child.once("error", (error) => {
      process.stderr.write(`${error.message}\n`);
      resolve(1);
    });
    child.once("close", (code, signal) => {
      clearInterval(watch);
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      resolve(signal === null ? code : 1);
    });
  });
}

function watchParent(gone) {
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent) gone();
  }, 500);
}
