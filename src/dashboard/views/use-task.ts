import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../client/client.js";

interface Task {
  /** Runs a task; a later one replaces it. An error becomes `problem`. */
  run(work: (signal: AbortSignal) => Promise<void>): void;
  readonly isRunning: boolean;
  /** Message of the last error; undefined after a success. */
  readonly problem: string | undefined;
}

/** Runs requests of a form. They are aborted when the form leaves the page. */
export function useTask(): Task {
  const current = useRef<AbortController>(undefined);
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState<string>();
  useEffect(() => () => current.current?.abort(), []);
  const run = (work: (signal: AbortSignal) => Promise<void>) => {
    current.current?.abort();
    const own = new AbortController();
    current.current = own;
    setRunning(true);
    setProblem(undefined);
    work(own.signal).then(
      () => own.signal.aborted || setRunning(false),
      (error) => {
        if (own.signal.aborted) return;
        setRunning(false);
        setProblem(messageOf(error));
      },
    );
  };
  return { run, isRunning, problem };
}

/** The message of a failed request. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Pause of a poll after an error, ms: never shorter than `Retry-After`. */
export const pauseAfter = (error: unknown, leastMs: number): number =>
  Math.max(leastMs, error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0);
