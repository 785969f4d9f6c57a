import { useEffect } from "preact/hooks";
import { pauseAfter } from "./use-task.js";

interface PollOptions {
  /** Starts again when it changes. */
  readonly key: string;
  /** Pause before the first poll and between polls, ms. After an error, `Retry-After` can make it longer. */
  readonly firstMs: number;
  readonly everyMs: number;
  /** Resolves with true if another poll follows. */
  poll(signal: AbortSignal): Promise<boolean>;
  onError?(error: unknown): void;
}

/** Polls while the component is mounted and the tab is visible. */
export function usePoll({ key, firstMs, everyMs, poll, onError }: PollOptions): void {
  useEffect(() => {
    const aborter = new AbortController();
    const { signal } = aborter;
    let timer: ReturnType<typeof setTimeout>;
    const run = async () => {
      clearTimeout(timer);
      if (document.hidden || signal.aborted) return;
      let wait = everyMs;
      try {
        if (!(await poll(signal))) return;
      } catch (error) {
        if (signal.aborted) return;
        onError?.(error);
        wait = pauseAfter(error, everyMs);
      }
      if (!signal.aborted) timer = setTimeout(() => void run(), wait);
    };
    timer = setTimeout(() => void run(), firstMs);
    const wake = () => void run();
    document.addEventListener("visibilitychange", wake);
    return () => {
      aborter.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
    };
  }, [key]);
}
