/** Minimum pause, ms: no value changes within a shorter one. */
const MIN_PAUSE_MS = 5_000;
const JITTER_MS = [2_000, 5_000] as const;

interface Scheduler {
  /** Runs the task at an instant, Unix ms, and replaces an earlier one. */
  at(ms: number): void;
  stop(): void;
  /** The instant `ms` plus 2 to 5 s, at least 5 s after `now`: pages of many people do not load at the same time. */
  spread(ms: number, now: number): number;
}

/** The one timer of the page. It pauses while the tab is hidden, and catches up when the tab is shown again. */
export function scheduler(run: () => void): Scheduler {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt: number | undefined;

  function arm(): void {
    clearTimeout(timer);
    if (dueAt === undefined || document.hidden) return;
    timer = setTimeout(
      () => {
        dueAt = undefined;
        run();
      },
      Math.max(0, dueAt - Date.now()),
    );
  }
  document.addEventListener("visibilitychange", arm);

  return {
    at(ms) {
      dueAt = ms;
      arm();
    },
    stop() {
      dueAt = undefined;
      clearTimeout(timer);
    },
    spread(ms, now) {
      const [least, most] = JITTER_MS;
      return Math.max(ms, now + MIN_PAUSE_MS - least) + least + Math.random() * (most - least);
    },
  };
}
