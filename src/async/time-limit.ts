import { setMaxListeners } from "node:events";

/**
 * Runs `work` with a signal that aborts after `ms`, or as soon as one of `signals` does. Settles as `work` does, but rejects
 * with the reason as soon as the signal aborts. A response that has come by then counts, also when this process was too busy to
 * read it. The timer is held here: garbage collection can drop an `AbortSignal.timeout`, or any other source, that an
 * `AbortSignal.any` alone refers to (https://github.com/nodejs/node/issues/57736).
 */
export async function withTimeLimit<T>(
  ms: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (const signal of signals) signal.throwIfAborted();
  const limit = new AbortController();
  let late: NodeJS.Immediate | undefined;
  const expire = () => limit.abort(new DOMException(`No response within ${ms} ms`, "TimeoutError"));
  // What has arrived is read between timers and immediates.
  const timer = setTimeout(() => {
    late = setImmediate(expire);
  }, ms);
  const forward = ({ target }: Event) => limit.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    // Any number of calls may share a signal. Without a signal this would change the limit of every emitter of the process.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", forward);
  }
  try {
    return await new Promise<T>((resolve, reject) => {
      limit.signal.addEventListener("abort", () => reject(limit.signal.reason));
      work(limit.signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    clearImmediate(late);
    for (const signal of signals) signal.removeEventListener("abort", forward);
  }
}
