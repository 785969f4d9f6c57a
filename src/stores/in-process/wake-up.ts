import type { WakeUp } from "../../deletions/wake-up.js";

/** Runs at once in this process, so that a burst of hints neither waits long nor takes all there is. */
const RUNS_AT_ONCE = 8;

/** Hints kept while there is no listener, or all runs are taken, and as many for later; the sweeper finds what the others were for. */
const LONGEST_QUEUE = 10_000;

interface Later {
  /** `performance.now` */
  readonly at: number;
  readonly timer: NodeJS.Timeout;
}

/** Hints within this process: with the embedded engine it is the only one. Of several for later the earliest is kept. */
export function inProcessWakeUp(): WakeUp {
  const waiting = new Set<string>();
  const later = new Map<string, Later>();
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

  function hintNow(requestId: string): void {
    if (waiting.size < LONGEST_QUEUE) waiting.add(requestId);
    setImmediate(next);
  }

  function hintLater(requestId: string, delayMs: number): void {
    const at = performance.now() + delayMs;
    const known = later.get(requestId);
    if (closed || (known === undefined ? later.size >= LONGEST_QUEUE : known.at <= at)) return;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      later.delete(requestId);
      hintNow(requestId);
    }, delayMs);
    later.set(requestId, { at, timer: timer.unref() });
  }

  return {
    hint(requestId, delayMs = 0) {
      if (delayMs > 0) hintLater(requestId, delayMs);
      else hintNow(requestId);
    },

    listen(listener) {
      run = listener;
      next();
    },

    async close() {
      closed = true;
      waiting.clear();
      for (const { timer } of later.values()) clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
