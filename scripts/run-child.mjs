// Runs a program in place of this one: its output is ours, signals go to it, its exit code is ours.
import { spawn } from "node:child_process";

/**
 * Resolves with the exit code of `node ...args`; `onMessage` gets what the child sends. SIGINT and SIGTERM are handed on; the child notices by its IPC
 * channel when this process is gone, and is stopped when npm, which started us, is gone.
 */
export function runChild(args, { env = {}, onMessage = () => {} } = {}) {
  const child = spawn(process.execPath, args, {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, ...env },
  });
  child.on("message", onMessage);
  const stop = (signal) => child.kill(signal);
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const watch = process.env.npm_lifecycle_event === undefined ? undefined : watchParent(() => stop("SIGTERM"));
  return new Promise((resolve) => {
    child.once("error", (error) => {
      process.stderr.write(`${error.message}\n`);
      resolve(1);
    });
    child.once("exit", (code, signal) => {
      clearInterval(watch);
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
