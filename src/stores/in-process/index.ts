import type { WakeUp } from "../../deletions/ports.js";
import type { EngineDescription } from "../stores.js";

/** Jobs within this process, which the embedded engine goes with. */
export const inProcess: EngineDescription = {
  schemes: ["sqlite:"],
  exclusive: true,
  jobs: {
    open: async () => ({
      wakeUp: inProcessWakeUp(),
      probes: [],
      serviceErrorOf: () => undefined,
      close: async () => {},
    }),
  },
};

/** Deletions that run at the same time: a burst of hints neither waits long nor takes all of the process. */
const RUNS_AT_ONCE = 8;

/** Hints that wait for a listener or a free run, and as many delayed ones; the sweeper finds the requests of further ones. */
const LONGEST_QUEUE = 10_000;

interface DelayedHint {
  /** `performance.now` */
  readonly at: number;
  readonly timer: NodeJS.Timeout;
}

/** Hints within this process: with the embedded engine it is the only one. Of several delayed hints of a request the earliest is kept. */
function inProcessWakeUp(): WakeUp {
  const waiting = new Set<string>();
  const delayed = new Map<string, DelayedHint>();
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
    const known = delayed.get(requestId);
    if (closed || (known === undefined ? delayed.size >= LONGEST_QUEUE : known.at <= at)) return;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      delayed.delete(requestId);
      hintNow(requestId);
    }, delayMs);
    delayed.set(requestId, { at, timer: timer.unref() });
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
      for (const { timer } of delayed.values()) clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
