import { setTimeout as sleep } from "node:timers/promises";

/**
 * Retries work until it succeeds, or until `pauseAfter` returns no pause (ms) for an error; attempts count from 1.
 * Rejects with the last error, with the error that `pauseAfter` throws, or with an `AbortError` when `signal` aborts
 * during a pause.
 */
export async function retry<T>(
  work: () => Promise<T>,
  pauseAfter: (error: unknown, attempt: number) => number | undefined,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const pauseMs = pauseAfter(error, attempt);
      if (pauseMs === undefined) throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** Work that runs in the background. */
export interface Background {
  /** Resolves when no work is running and none will follow. */
  stop(): Promise<void>;
}

/**
 * Runs the work now, and again after each pause (ms) that it resolves with, until stopped. The work must not reject. A
 * pause does not keep the process alive.
 */
export function inBackground(work: () => Promise<number>): Background {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    while (!signal.aborted) await sleep(await work(), undefined, { ref: false, signal }).catch(() => {});
  };
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Returns pauses that double with each attempt, ms: `firstMs` after the first attempt, at most `longestMs`. */
export function backoff(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30));
}

/**
 * Returns a random part of a pause, so that two attempts that collided seldom collide again.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ ("full jitter")
 */
export function jittered(pauseMs: number): number {
  return Math.random() * pauseMs;
}
