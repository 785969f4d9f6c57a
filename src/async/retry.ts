import { setTimeout as sleep } from "node:timers/promises";

interface RetryOptions {
  /** Ends a pause, and with it everything: rejects with an `AbortError`. */
  readonly signal?: AbortSignal;
  /** Whether a pause keeps the process alive, as it does by default. */
  readonly ref?: boolean;
}

/**
 * Runs work that can be repeated until it succeeds, or until `pauseAfter` returns no pause (ms) for an error; attempts count from 1.
 * Rejects with the last error, or with what `pauseAfter` throws in its place.
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

/** The same for work whose result tells that it is to be done again. Resolves with the last result; an error ends it. */
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

/** Work that goes on in the background. */
export interface Background {
  /** Resolves when none of it is under way and none will follow. */
  stop(): Promise<void>;
}

/** Does work now, and again after each pause (ms) that it resolves with, until it is stopped. It must not reject. */
export function inBackground(work: () => Promise<number>, options: Pick<RetryOptions, "ref"> = {}): Background {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pauseAfter = (pauseMs: number) => (signal.aborted ? undefined : pauseMs);
  // Its only error is that it was stopped in a pause.
  const running = repeat(work, pauseAfter, { ...options, signal }).catch(() => {});
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Pauses that double from one attempt to the next, ms: `firstMs` after the first attempt, never more than `longestMs`. */
export function backoff(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30));
}

/**
 * A random part of a pause, so that two attempts that met at the same instant seldom do so again.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ ("full jitter")
 */
export function jittered(pauseMs: number): number {
  return Math.random() * pauseMs;
}
