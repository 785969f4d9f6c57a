import { setTimeout as sleep } from "node:timers/promises";

interface RetryOptions {
  /** Aborts a pause and all further attempts: rejects with an `AbortError`. */
  readonly signal?: AbortSignal;
  /** Whether a pause keeps the process alive, as it does by default. */
  readonly ref?: boolean;
}

/**
 * Retries work until it succeeds, or until `pauseAfter` returns no pause (ms) for an error; attempts count from 1.
 * Rejects with the last error, or with the error that `pauseAfter` throws.
 */
export async function retry<T>(
  work: () => Promise<T>,
  pauseAfter: (error: unknown, attempt: number) => number | undefined,
  options: RetryOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const pauseMs = pauseAfter(error, attempt);
      if (pauseMs === undefined) throw error;
      await sleep(pauseMs, undefined, options);
    }
  }
}

/** Like `retry`, for work whose result shows whether to repeat it. Resolves with the last result; an error ends it. */
export async function repeat<T>(
  work: () => Promise<T>,
  pauseAfter: (result: T, attempt: number) => number | undefined,
  options: RetryOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await work();
    const pauseMs = pauseAfter(result, attempt);
    if (pauseMs === undefined) return result;
    await sleep(pauseMs, undefined, options);
  }
}

/** Work that runs in the background. */
export interface Background {
  /** Resolves when no work is running and none will follow. */
  stop(): Promise<void>;
}

/**
 * Runs the work now, and again after each pause (ms) that it resolves with, until stopped. The work must not reject.
 */
export function inBackground(work: () => Promise<number>, options: Pick<RetryOptions, "ref"> = {}): Background {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pauseAfter = (pauseMs: number) => (signal.aborted ? undefined : pauseMs);
  // Its only error is a stop during a pause.
  const running = repeat(work, pauseAfter, { ...options, signal }).catch(() => {});
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
