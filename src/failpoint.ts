/** A place in the code where a test can make the process die; docs/promises.md lists them. Does nothing otherwise. */
export type Failpoint = (name: string) => void;

export const noFailpoint: Failpoint = () => {};

/**
 * A failpoint that kills this process, as `kill -9` would, when the place `name` is reached for the `after`-th time
 * (the first when not told); with `SIGSTOP` as the signal it is held there until it is let go on. Without a name it does nothing.
 */
export function dieAt(name: string | undefined, after: string | undefined, signal: string | undefined): Failpoint {
  if (name === undefined || name === "") return noFailpoint;
  let left = Math.max(1, Number(after ?? 1) || 1);
  return (reached) => {
    if (reached !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, signal === "SIGSTOP" ? "SIGSTOP" : "SIGKILL");
  };
}
