import type { WakeUp } from "../../deletions/wake-up.js";

/** Runs at once in this process, so that a burst of hints neither waits long nor takes all there is. */
const RUNS_AT_ONCE = 8;

/** Hints kept while nobody listens, or all are busy; the sweeper finds what the others were for. */
const LONGEST_QUEUE = 10_000;

/** Hints within this process: with the embedded engine it is the only one. */
export function inProcessWakeUp(): WakeUp {
  const waiting = new Set<string>();
  const running = new Set<Promise<void>>();
  let run: ((requestId: string) => Promise<void>) | undefined;
  let closed = false;

  function next(): void {
    if (run === undefined || closed || running.size >= RUNS_AT_ONCE) return;
    const [requestId] = waiting;
    if (requestId === undefined) return;
    waiting.delete(requestId);
    const under = run(requestId)
      .catch(() => {})
      .finally(() => {
        running.delete(under);
        next();
      });
    running.add(under);
    next();
  }

  return {
    hint(requestId) {
      if (waiting.size < LONGEST_QUEUE) waiting.add(requestId);
      setImmediate(next);
    },

    listen(listener) {
      run = listener;
      next();
    },

    async close() {
      closed = true;
      waiting.clear();
      await Promise.all(running);
    },
  };
}
