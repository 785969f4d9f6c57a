import { StartError } from "./errors.js";

/** A place in the code where a test can end the process; docs/promises.md lists them. Otherwise it does nothing. */
export type Failpoint = (name: string) => void;

export const noFailpoint: Failpoint = () => {};

/**
 * Returns the failpoint of the environment. It kills this process, like `kill -9`, when the place FAILPOINT is reached
 * for the FAILPOINT_AFTER-th time (1 by default); with FAILPOINT_SIGNAL=SIGSTOP the process is stopped there until it
 * is continued. Does nothing without FAILPOINT. Throws StartError unless NODE_ENV is `test`.
 */
export function failpointFrom(environment: Readonly<Record<string, string | undefined>>): Failpoint {
  const { NODE_ENV, FAILPOINT, FAILPOINT_AFTER, FAILPOINT_SIGNAL } = environment;
  if (FAILPOINT === undefined || FAILPOINT === "") return noFailpoint;
  if (NODE_ENV !== "test") {
    throw new StartError("FAILPOINT kills the process and is for tests: remove it, or set NODE_ENV=test");
  }
  let left = Math.max(1, Number(FAILPOINT_AFTER ?? 1) || 1);
  return (reached) => {
    if (reached !== FAILPOINT) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, FAILPOINT_SIGNAL === "SIGSTOP" ? "SIGSTOP" : "SIGKILL");
  };
}
