// Runs a program in place of this one: with its output, exit code and signals.
import { spawn } from "node:child_process";

/**
 * Resolves with the exit code of `node ...args`. `onMessage` gets messages of the child; `onOutput` gets its output,
 * which goes to our stdout by default. SIGINT and SIGTERM are forwarded. The child learns from its IPC channel that
 * this process has ended; it is stopped if npm, our parent, has ended.
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
